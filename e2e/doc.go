// Package e2e runs the loop against servers that others wrote; see run in this folder and docs/e2e.md.
package e2e
