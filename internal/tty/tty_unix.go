//go:build darwin || dragonfly || freebsd || linux || netbsd

package tty

import (
	"os"
	"syscall"
	"unsafe"
)

func size(file *os.File) (columns, rows int, err error) {
	var is struct{ rows, columns, x, y uint16 }
	err = control(file, func(fd uintptr) (failed syscall.Errno) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&is)))
		return failed
	})
	return int(is.columns), int(is.rows), err
}

// control makes a request of a device.
func control(file *os.File, request func(fd uintptr) syscall.Errno) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed syscall.Errno
	err = conn.Control(func(fd uintptr) { failed = request(fd) })
	if err == nil && failed != 0 {
		err = failed
	}
	return err
}
