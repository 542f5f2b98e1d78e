//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func lock(file *os.File) error {
	err := flock(file, syscall.LOCK_EX)
	if errors.Is(err, errors.ErrUnsupported) { // some file systems have no locks
		return nil
	}
	return err
}

func try(file *os.File) (bool, error) {
	err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, errors.ErrUnsupported):
		return true, nil
	}
	return err == nil, err
}

// unlock cannot fail in a way that matters: closing the file unlocks it as well.
func unlock(file *os.File) { _ = flock(file, syscall.LOCK_UN) }

func flock(file *os.File, how int) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			if failed = syscall.Flock(int(fd), how); !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("lock %s: %w", file.Name(), failed)
	}
	return err
}
