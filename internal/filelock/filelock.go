// Package filelock keeps processes that write to the same file apart.
package filelock

import "os"

// Hold calls do while no other open file of the same name is in Hold, in this process
// or another. On systems that have no such locks it just calls do.
func Hold(file *os.File, do func() error) error {
	if err := lock(file); err != nil {
		return err
	}
	defer unlock(file)
	return do()
}

// Try locks a file until it is closed, unless another open file of the same name is
// locked: it then reports false. On systems that have no such locks it reports true.
func Try(file *os.File) (bool, error) { return try(file) }
