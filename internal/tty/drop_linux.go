package tty

import (
	"os"
	"runtime"
	"strings"
	"syscall"
)

// drop makes the request that tcflush(3) makes, whose number package syscall lacks.
func drop(file *os.File) {
	request := uintptr(0x540b) // TCFLSH
	switch arch := runtime.GOARCH; {
	case strings.HasPrefix(arch, "mips"):
		request = 0x5407
	case strings.HasPrefix(arch, "ppc64"):
		request = 0x2000741f
	}
	_ = control(file, func(fd uintptr) (failed syscall.Errno) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, syscall.TCIFLUSH)
		return failed
	})
}
