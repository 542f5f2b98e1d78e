// Package e2e runs the loop against servers that others wrote; see run and README.md in this folder.
package e2e
