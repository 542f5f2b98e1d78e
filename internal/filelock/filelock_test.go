package filelock_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolrunner/toolrunner/internal/filelock"
)

func TestOneHasTheLockAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	path := filepath.Join(t.TempDir(), "file")
	const others = 8
	for range 20 {
		var wg sync.WaitGroup
		var locked atomic.Int32
		files := make([]*os.File, others)
		for i := range files {
			var err error
			if files[i], err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				ok, err := filelock.Try(files[i])
				if err != nil {
					t.Error(err)
				}
				if ok {
					locked.Add(1)
				}
			})
		}
		wg.Wait()
		if got := locked.Load(); got != 1 {
			t.Fatalf("%d of %d have the lock, want one", got, others)
		}
		for _, file := range files { // closing lets go
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestClosedFileHasNoLock(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := filelock.Try(file); runtime.GOOS != "windows" && (ok || err == nil) {
		t.Errorf("Try() of a closed file = %v, %v, want an error", ok, err)
	}
}
