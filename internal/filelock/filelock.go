// Package filelock keeps processes that write to the same file apart.
package filelock

import "os"

// Try locks a file until it is closed, unless another open file of the same name is
// locked: it then reports false. On systems that have no such locks it reports true.
func Try(file *os.File) (bool, error) { return try(file) }
