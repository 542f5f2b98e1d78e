package recordfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func mustOpen(t *testing.T, path, want string) *File {
	t.Helper()
	f, data, err := Open(path)
	if err != nil {
		t.Fatalf("Open() error = %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if string(data) != want {
		t.Fatalf("Open() = %q, want %q", data, want)
	}
	return f
}

func mustDo(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s error = %v", what, err)
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != want {
		t.Errorf("the file holds %q, %v, want %q", data, err, want)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	f := mustOpen(t, path, "")
	mustDo(t, "Replace()", f.Replace([]byte("one ")))
	mustDo(t, "Append()", f.Append([]byte("two ")))
	mustDo(t, "Append()", f.Append([]byte("three")))
	mustDo(t, "Cut()", f.Cut(8))
	mustDo(t, "Close()", errors.Join(f.Close(), f.Close()))
	f = mustOpen(t, path, "one two ")
	mustDo(t, "Replace()", f.Replace([]byte("four ")))
	mustDo(t, "Append()", f.Append([]byte("five")))
	wantContent(t, path, "four five")
	if f.Size() != 9 || f.Path() != path {
		t.Errorf("Size() = %d, Path() = %s", f.Size(), f.Path())
	}
	mustDo(t, "Close()", f.Close())
	if err := f.Append(nil); err == nil {
		t.Error("Append() to a closed file has no error")
	}
}

// A8: who has the file open has it alone, also after it was replaced.
func TestSecondOneIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	path := filepath.Join(t.TempDir(), "run")
	f := mustOpen(t, path, "")
	for _, write := range []func([]byte) error{f.Append, f.Replace, f.Append, f.Replace} {
		mustDo(t, "write", write([]byte("x")))
		if _, _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is in use") {
			t.Fatalf("the second Open() error = %v", err)
		}
	}
	mustDo(t, "Close()", f.Close())
	mustOpen(t, path, "x")
}

// A8: a file that was removed, replaced or written to is not written to any more.
func TestFileOfSomebodyElseIsLeftAlone(t *testing.T) {
	for name, interfere := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { t.Helper(); mustDo(t, "Remove()", os.Remove(path)) },
		"renamed": func(t *testing.T, path string) { t.Helper(); mustDo(t, "Rename()", os.Rename(path, path+"2")) },
		"replaced": func(t *testing.T, path string) {
			t.Helper()
			mustDo(t, "WriteFile()", os.WriteFile(path+"2", []byte("one"), mode))
			mustDo(t, "Rename()", os.Rename(path+"2", path))
		},
		"replaced by a link to itself": func(t *testing.T, path string) {
			t.Helper()
			mustDo(t, "Rename()", os.Rename(path, path+"2"))
			mustDo(t, "Symlink()", os.Symlink(path+"2", path))
		},
		"written to": func(t *testing.T, path string) {
			t.Helper()
			mustDo(t, "WriteFile()", os.WriteFile(path, []byte("one more"), mode))
		},
		"truncated": func(t *testing.T, path string) { t.Helper(); mustDo(t, "Truncate()", os.Truncate(path, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run")
			f := mustOpen(t, path, "")
			mustDo(t, "Append()", f.Append([]byte("one")))
			interfere(t, path)
			before, _ := os.ReadFile(path)
			for range 2 {
				for what, err := range map[string]error{"Append": f.Append([]byte("two")), "Replace": f.Replace([]byte("two")), "Cut": f.Cut(0)} {
					if err == nil {
						t.Errorf("%s() has no error", what)
					}
				}
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("the file of somebody else holds %q, and had %q", after, before)
			}
		})
	}
}

// The working directory may change while a file is open.
func TestFileIsFoundFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	f := mustOpen(t, "run", "")
	t.Chdir(t.TempDir())
	mustDo(t, "Replace()", f.Replace([]byte("one")))
	mustDo(t, "Append()", f.Append([]byte("two")))
	wantContent(t, filepath.Join(dir, "run"), "onetwo")
}

// Where no file can be made beside it, data is appended.
func TestFileThatCannotBeReplacedGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	f := mustOpen(t, path, "")
	mustDo(t, "MkdirAll()", os.MkdirAll(filepath.Join(path+aside, "full"), 0o700))
	mustDo(t, "Replace()", f.Replace([]byte("one")))
	mustDo(t, "Replace()", f.Replace([]byte("two")))
	wantContent(t, path, "onetwo")
}

// crash is what a step panics with that does not come to be.
type crash struct{}

// Rough edge "a checkpoint file only grows": at whatever step the process dies, the file
// holds what it held or what it was to hold, and what is left beside it is gone after the
// next time.
func TestCrashAtEachStepLeavesOneOrTheOther(t *testing.T) {
	for at := 1; ; at++ {
		path := filepath.Join(t.TempDir(), "run")
		f := mustOpen(t, path, "")
		mustDo(t, "Append()", f.Append([]byte("old")))
		steps, last := 0, ""
		f.step = func(step string) {
			if steps++; steps == at {
				last = step
				panic(crash{})
			}
		}
		died := dies(t, func() error { return f.Replace([]byte("new one")) })
		_ = f.file.Close() // as the system does
		want := "old"
		if last == "sync folder" || !died {
			want = "new one"
		}
		next := mustOpen(t, path, want)
		mustDo(t, "Replace()", next.Replace([]byte("newer")))
		wantContent(t, path, "newer")
		if _, err := os.Lstat(path + aside); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("step %q: a file is left beside it: %v", last, err)
		}
		if !died {
			if at < 6 {
				t.Errorf("there are %d steps", at-1)
			}
			return
		}
	}
}

func dies(t *testing.T, do func() error) (died bool) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			if _, died = v.(crash); !died {
				panic(v)
			}
		}
	}()
	mustDo(t, "the step", do())
	return false
}

// A file whose name leads to another one since it was opened, before it was locked, is
// not taken for it.
func TestOldFileIsNotTakenForTheNewOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	old, err := os.Create(path)
	mustDo(t, "Create()", err)
	defer old.Close()
	f := mustOpen(t, path, "")
	mustDo(t, "Replace()", f.Replace([]byte("new")))
	if err := isAt(old, path); err == nil {
		t.Error("the old file is taken for the new one")
	}
	if err := isAt(f.file, path); err != nil {
		t.Error(err)
	}
}

// Where a file cannot take the place of another, what was to be in it is appended, and
// nothing is lost.
func TestReplacingFallsBackToAppending(t *testing.T) {
	for name, hinder := range map[string]func(aside string) error{
		"remove": func(aside string) error { return os.MkdirAll(filepath.Join(aside, "full"), 0o700) },
		"create": func(aside string) error { return os.WriteFile(aside, []byte("of somebody"), 0o600) },
		"rename": os.Remove,
	} {
		path := filepath.Join(t.TempDir(), "run")
		f := mustOpen(t, path, "")
		mustDo(t, "Append()", f.Append([]byte("one ")))
		f.step = func(step string) {
			if step == name {
				mustDo(t, name, hinder(path+aside))
			}
		}
		mustDo(t, "Replace()", f.Replace([]byte("two ")))
		f.step = nil
		mustDo(t, "Append()", f.Append([]byte("three")))
		wantContent(t, path, "one two three")
		mustDo(t, "Close()", f.Close())
	}
}

// What cannot be written is an error, and leaves the file as it was.
func TestErrorsLeaveTheFileAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	f := mustOpen(t, path, "")
	mustDo(t, "Append()", f.Append([]byte("one")))
	if err := f.Cut(-1); err == nil {
		t.Error("Cut(-1) has no error")
	}
	f.step = func(step string) {
		if step == "append" {
			mustDo(t, "closing", f.file.Close())
		}
	}
	if err := f.Append([]byte("two")); err == nil {
		t.Error("Append() to a file that is gone has no error")
	}
	if err := f.Cut(0); err == nil {
		t.Error("Cut() of a file that is closed has no error")
	}
	wantContent(t, path, "one")
	if _, _, err := Open(filepath.Join(path, "below")); err == nil {
		t.Error("Open() of a path below a file has no error")
	}
}
