// Package toolrunner runs the loop between a model and its tools.
package toolrunner
