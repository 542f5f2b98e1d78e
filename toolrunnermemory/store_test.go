package toolrunnermemory_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolrunner/toolrunner/toolrunnermemory"
	"github.com/toolrunner/toolrunner/toolrunnermemory/memorytest"
)

// open opens a folder for the time of a test.
func open(t *testing.T, path string) *toolrunnermemory.Directory {
	t.Helper()
	d, err := toolrunnermemory.Dir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestStoresKeepWhatTheInterfaceSays(t *testing.T) {
	t.Run("Directory", func(t *testing.T) {
		if err := memorytest.TestStore(t.Context(), open(t, filepath.Join(t.TempDir(), "new"))); err != nil {
			t.Error(err)
		}
	})
	t.Run("Map", func(t *testing.T) {
		if err := memorytest.TestStore(t.Context(), toolrunnermemory.NewMap(nil)); err != nil {
			t.Error(err)
		}
	})
}

// A store that breaks the contract is told so: the suite can fail.
func TestTheSuiteFindsFaults(t *testing.T) {
	if err := memorytest.TestStore(t.Context(), forgetful{toolrunnermemory.NewMap(map[string]string{"a.md": "x"})}); err == nil || !strings.Contains(err.Error(), "Create") {
		t.Errorf("error = %v, want one about Create", err)
	}
}

type forgetful struct{ *toolrunnermemory.Map }

// M31, M32: no link leads out of the folder, in whatever command; pipes and devices are neither
// read nor listed.
func TestNothingLeadsOutOfTheFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	outside, folder := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": secret, "dir": outside, "inside": "real", "up": "..", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("mkfifo", filepath.Join(folder, "pipe")).Run(); err != nil {
		t.Logf("no pipe is tested: %v", err)
	}
	d := open(t, folder)
	ctx := t.Context()
	if err := d.Create(ctx, "real", []byte("real")); err != nil {
		t.Fatal(err)
	}
	if data, err := d.Read(ctx, "inside"); err != nil || string(data) != "real" {
		t.Errorf("Read of a link that stays inside = %q, %v", data, err)
	}
	list, err := d.List(ctx, "")
	if err != nil || fmt.Sprint(list) != "[{inside false 4} {real false 4}]" {
		t.Errorf("List = %v, %v, want what is inside alone", list, err)
	}
	for _, at := range []string{"file", "dir/secret", "dir", "up", "up/x", "loop", "pipe"} {
		if data, err := d.Read(ctx, at); err == nil {
			t.Errorf("Read(%q) = %q", at, data)
		}
		if err := d.Replace(ctx, at, []byte("secret"), []byte("changed")); err == nil {
			t.Errorf("Replace(%q) works", at)
		}
		if err := d.Create(ctx, at+"/new", []byte("x")); err == nil {
			t.Errorf("Create below %q works", at)
		}
		if err := d.Rename(ctx, "real", at+"/real"); err == nil {
			t.Errorf("Rename to below %q works", at)
		}
	}
	for _, at := range []string{"dir/secret", "up/x"} {
		if err := d.Remove(ctx, at); err == nil {
			t.Errorf("Remove(%q) works", at)
		}
	}
	if err := d.Remove(ctx, "dir"); err != nil { // the link itself
		t.Errorf("Remove of a link: %v", err)
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("what is outside is %q, %v", data, err)
	}
	if left, err := filepath.Glob(filepath.Join(outside, "*")); err != nil || len(left) != 1 {
		t.Errorf("outside there is %q, %v", left, err)
	}
}

// M33, M34: modes whatever the umask, nothing left behind, and a folder that a dead writer has
// left its file in is swept.
func TestFilesArePrivateAndWhole(t *testing.T) {
	folder := t.TempDir()
	old, young := filepath.Join(folder, ".tmp-old"), filepath.Join(folder, ".tmp-young")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	d := open(t, folder)
	ctx := t.Context()
	if err := d.Create(ctx, "a/b", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := d.Replace(ctx, "a/b", []byte("1"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("what a dead writer left is there")
	}
	names, err := filepath.Glob(filepath.Join(folder, ".tmp-*"))
	if err != nil || len(names) != 1 || names[0] != young {
		t.Errorf("there is %q, %v, want the young one alone", names, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]fs.FileMode{"a": 0o700 | fs.ModeDir, "a/b": 0o600} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

// M6, M37: edits and renames of one folder at once lose nothing.
func TestEditsAtOnceLoseNothing(t *testing.T) {
	for name, store := range map[string]toolrunnermemory.Store{"Directory": open(t, t.TempDir()), "Map": toolrunnermemory.NewMap(nil)} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if err := store.Create(ctx, "log", nil); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			won := make(chan int, 8)
			for i := range 8 {
				wg.Go(func() {
					line := fmt.Appendf(nil, "%d\n", i)
					for {
						before, err := store.Read(ctx, "log")
						if err == nil {
							err = store.Replace(ctx, "log", before, append(bytes.Clone(before), line...))
						}
						if !errors.Is(err, toolrunnermemory.ErrChanged) {
							if err != nil {
								t.Error(err)
							}
							break
						}
					}
					own := fmt.Sprintf("own-%d", i)
					if err := store.Create(ctx, own, line); err != nil {
						t.Error(err)
					}
					if err := store.Rename(ctx, own, "taken"); err == nil {
						won <- i
					} else if !errors.Is(err, fs.ErrExist) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			close(won)
			if n := len(won); n != 1 {
				t.Errorf("%d renames to one name have won, want 1", n)
			}
			if data, err := store.Read(ctx, "log"); err != nil || bytes.Count(data, []byte("\n")) != 8 {
				t.Errorf("the log is %q, %v, want 8 lines", data, err)
			}
		})
	}
}

func TestDirReportsAFileInItsPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := toolrunnermemory.Dir(file); err == nil || !strings.Contains(err.Error(), "toolrunnermemory") {
		t.Errorf("Dir() error = %v, want one", err)
	}
	d := open(t, t.TempDir())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(t.Context(), "a", nil); err == nil {
		t.Error("a closed folder is used")
	}
}
