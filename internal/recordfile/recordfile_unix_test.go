//go:build unix

package recordfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A8: what others could read is for the owner alone from then on.
func TestFileIsMadePrivate(t *testing.T) {
	for _, given := range []os.FileMode{0o666, 0o644, 0o640, 0o604, 0o777, 0o600} {
		path := filepath.Join(t.TempDir(), "run")
		mustDo(t, "WriteFile()", os.WriteFile(path, []byte("x"), 0o600))
		mustDo(t, "Chmod()", os.Chmod(path, given))
		f := mustOpen(t, path, "x")
		for range 2 {
			info, err := os.Lstat(path)
			mustDo(t, "Lstat()", err)
			if got := info.Mode().Perm(); got != mode {
				t.Errorf("a file of mode %v has %v", given, got)
			}
			mustDo(t, "Replace()", f.Replace([]byte("y")))
		}
	}
}

// A8: what is no regular file is refused, and nothing waits, is followed or created.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	for name, create := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", nil, 0o600), os.Symlink(path+"2", path))
		},
		"a link to nowhere": func(path string) error { return os.Symlink(path+"3", path) },
		"a link to a pipe": func(path string) error {
			return errors.Join(syscall.Mkfifo(path+"2", 0o600), os.Symlink(path+"2", path))
		},
		"a device": func(path string) error { return os.Symlink("/dev/null", path) },
	} {
		path := filepath.Join(t.TempDir(), "run")
		mustDo(t, name, create(path))
		if f, _, err := Open(path); err == nil {
			t.Errorf("Open() of %s has no error: %v", name, f.Path())
		}
		if _, err := os.Lstat(path + "3"); err == nil {
			t.Errorf("Open() of %s has created a file", name)
		}
	}
	if _, _, err := Open("/dev/null"); err == nil {
		t.Error("Open() of a device has no error")
	}
}

// What the name leads to may change while it is opened: a pipe is not waited for.
func TestPipeIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	mustDo(t, "Mkfifo()", syscall.Mkfifo(path, 0o600))
	file, err := os.OpenFile(path, os.O_RDWR|nonblock, 0)
	mustDo(t, "OpenFile()", err)
	defer file.Close()
	if err := isAt(file, path); err == nil {
		t.Error("a pipe is taken for the file")
	}
}
