// Package model has no code: its tests run random programs.
package model
