//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filelock

import "os"

func try(*os.File) (bool, error) { return true, nil }
