// Package memorytest tests implementations of [toolrunnermemory.Store].
package memorytest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/toolrunner/toolrunner/toolrunnermemory"
)

// TestStore tests a store, which must be empty and is changed. It returns an error that lists
// everything in which the store differs from what [toolrunnermemory.Store] says, or nil.
func TestStore(ctx context.Context, store toolrunnermemory.Store) error {
	s := &suite{ctx: ctx, store: store}
	s.files()
	s.directories()
	s.renaming()
	s.removing()
	return errors.Join(s.faults...)
}

type suite struct {
	ctx    context.Context //nolint:containedctx // of one test
	store  toolrunnermemory.Store
	faults []error
}

func (s *suite) errorf(format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf(format, args...))
}

// want notes an error that is not the one that is wanted; nil: none.
func (s *suite) want(what string, err, want error) {
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		s.errorf("%s: error = %v, want %v", what, err, want)
	}
}

func (s *suite) wantContent(path, want string) {
	got, err := s.store.Read(s.ctx, path)
	if err != nil || string(got) != want {
		s.errorf("Read(%q) = %q, %v, want %q", path, got, err, want)
	}
}

func (s *suite) wantList(dir string, want ...toolrunnermemory.Info) {
	got, err := s.store.List(s.ctx, dir)
	for i := range got {
		if got[i].Dir {
			got[i].Size = 0
		}
	}
	if err != nil || !slices.Equal(got, want) {
		s.errorf("List(%q) = %v, %v, want %v", dir, got, err, want)
	}
}

func (s *suite) files() {
	_, err := s.store.Read(s.ctx, "a.md")
	s.want("Read of what is not there", err, fs.ErrNotExist)
	_, err = s.store.Stat(s.ctx, "a.md")
	s.want("Stat of what is not there", err, fs.ErrNotExist)
	s.want("Replace of what is not there", s.store.Replace(s.ctx, "a.md", nil, nil), fs.ErrNotExist)
	s.want("Create", s.store.Create(s.ctx, "a.md", []byte("one")), nil)
	s.want("Create of what is there", s.store.Create(s.ctx, "a.md", []byte("two")), fs.ErrExist)
	s.wantContent("a.md", "one")
	s.want("Replace of other content", s.store.Replace(s.ctx, "a.md", []byte("two"), []byte("three")), toolrunnermemory.ErrChanged)
	s.wantContent("a.md", "one")
	s.want("Replace", s.store.Replace(s.ctx, "a.md", []byte("one"), []byte("\xff\x00")), nil)
	s.wantContent("a.md", "\xff\x00")
	info, err := s.store.Stat(s.ctx, "a.md")
	if want := (toolrunnermemory.Info{Name: "a.md", Size: 2}); err != nil || info != want {
		s.errorf("Stat = %v, %v, want %v", info, err, want)
	}
	data := []byte("mine")
	s.want("Create", s.store.Create(s.ctx, "copied", data), nil)
	data[0] = 'X'
	s.wantContent("copied", "mine")
	got, err := s.store.Read(s.ctx, "copied")
	if err == nil && len(got) > 0 {
		got[0] = 'X'
	}
	s.wantContent("copied", "mine")
	s.want("Remove", s.store.Remove(s.ctx, "copied"), nil)
}

func (s *suite) directories() {
	s.want("Create in a directory", s.store.Create(s.ctx, "d/e/f", []byte("deep")), nil)
	s.want("Create of a file that is a directory", s.store.Create(s.ctx, "d/e", nil), fs.ErrExist)
	s.want("Create below a file", s.store.Create(s.ctx, "a.md/b", nil), fs.ErrExist)
	_, err := s.store.List(s.ctx, "none")
	s.want("List of what is not there", err, fs.ErrNotExist)
	s.wantList("", toolrunnermemory.Info{Name: "a.md", Size: 2}, toolrunnermemory.Info{Name: "d", Dir: true})
	s.wantList("d/e", toolrunnermemory.Info{Name: "f", Size: 4})
	if info, err := s.store.Stat(s.ctx, "d"); err != nil || !info.Dir || info.Name != "d" {
		s.errorf("Stat of a directory = %v, %v", info, err)
	}
	if info, err := s.store.Stat(s.ctx, ""); err != nil || !info.Dir {
		s.errorf("Stat of the root = %v, %v", info, err)
	}
	_, err = s.store.Stat(s.ctx, "a.md/b")
	s.want("Stat below a file", err, fs.ErrNotExist)
}

func (s *suite) renaming() {
	s.want("Rename of what is not there", s.store.Rename(s.ctx, "none", "x"), fs.ErrNotExist)
	s.want("Rename onto a file", s.store.Rename(s.ctx, "d/e/f", "a.md"), fs.ErrExist)
	s.want("Rename onto a directory", s.store.Rename(s.ctx, "a.md", "d"), fs.ErrExist)
	s.want("Rename onto itself", s.store.Rename(s.ctx, "a.md", "a.md"), fs.ErrExist)
	s.want("Rename below a file", s.store.Rename(s.ctx, "d/e/f", "a.md/x"), fs.ErrExist)
	s.want("Rename", s.store.Rename(s.ctx, "a.md", "new/b.md"), nil)
	s.wantContent("new/b.md", "\xff\x00")
	s.want("Rename of a directory", s.store.Rename(s.ctx, "d", "moved/d"), nil)
	s.wantContent("moved/d/e/f", "deep")
	_, err := s.store.Stat(s.ctx, "d")
	s.want("Stat of what was moved", err, fs.ErrNotExist)
}

func (s *suite) removing() {
	s.want("Remove of what is not there", s.store.Remove(s.ctx, "none"), fs.ErrNotExist)
	s.want("Remove of a directory", s.store.Remove(s.ctx, "moved"), nil)
	_, err := s.store.Read(s.ctx, "moved/d/e/f")
	s.want("Read of what was removed", err, fs.ErrNotExist)
	s.want("Remove of a file", s.store.Remove(s.ctx, "new/b.md"), nil)
}
