// Package official runs the official tool runners of Python, TypeScript, Java and Go, at their defaults, against
// toolrunnertest and the command toolrunner mock; see README.md in the folder above.
package official
