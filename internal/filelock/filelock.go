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
