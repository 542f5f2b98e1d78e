//go:build unix

package recordfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// nonblock keeps opening what has become a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// makePrivate takes the file away from all but its owner.
func makePrivate(file *os.File) error {
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&^mode != 0 {
		err = file.Chmod(mode)
	}
	return err
}

// syncFolder makes the name of a file durable, where the file system can do that. A
// folder that may not be read cannot be synced either.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
