package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/toolrunner/toolrunner/internal/filelock"
)

func TestOneIsInHoldAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	path := filepath.Join(t.TempDir(), "file")
	var wg sync.WaitGroup

	for range 8 {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer file.Close()
			for range 100 {
				err := filelock.Hold(file, func() error {
					info, err := file.Stat()
					if err != nil {
						return err
					}
					_, err = file.WriteAt([]byte{'x'}, info.Size())
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(8 * 100); info.Size() != want {
		t.Errorf("%d bytes were written one after the other, want %d", info.Size(), want)
	}
}

func TestHoldReturnsWhatItsFunctionDoes(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := errors.New("broken")
	for range 2 { // the first has let go
		if err := filelock.Hold(file, func() error { return want }); !errors.Is(err, want) {
			t.Errorf("Hold() error = %v", err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	err = filelock.Hold(file, func() error { return nil })
	if runtime.GOOS != "windows" && err == nil {
		t.Error("Hold() of a closed file has no error")
	}
}
