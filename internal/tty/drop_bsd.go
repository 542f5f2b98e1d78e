//go:build darwin || dragonfly || freebsd || netbsd

package tty

import (
	"os"
	"syscall"
	"unsafe"
)

// drop makes the request that tcflush(3) makes.
func drop(file *os.File) {
	what := int32(1) // FREAD: what is to be read
	_ = control(file, func(fd uintptr) (failed syscall.Errno) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCFLUSH, uintptr(unsafe.Pointer(&what)))
		return failed
	})
}
