package toolrunnermemory

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// Map is a [Store] in memory, for tests. A directory is there while something is in it.
type Map struct {
	mu    sync.Mutex
	files map[string][]byte
}

var _ Store = (*Map)(nil)

// NewMap returns a store with files, by their paths, such as "notes/a.md". files is copied.
func NewMap(files map[string]string) *Map {
	m := &Map{files: make(map[string][]byte, len(files))}
	for p, text := range files {
		m.files[p] = []byte(text)
	}
	return m
}

// Files returns a copy of the files, by their paths.
func (m *Map) Files() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	files := make(map[string]string, len(m.files))
	for p, data := range m.files {
		files[p] = string(data)
	}
	return files
}

// below returns the paths of the files in a directory, sorted.
func (m *Map) below(dir string) []string {
	prefix := dir + "/"
	if dir == "" {
		prefix = ""
	}
	var paths []string
	for _, p := range slices.Sorted(maps.Keys(m.files)) {
		if strings.HasPrefix(p, prefix) {
			paths = append(paths, p)
		}
	}
	return paths
}

// stat describes what is at a path.
func (m *Map) stat(p string) (Info, error) {
	if data, ok := m.files[p]; ok {
		return Info{Name: path.Base(p), Size: int64(len(data))}, nil
	}
	if p == "" || len(m.below(p)) > 0 {
		return Info{Name: path.Base(p), Dir: true}, nil
	}
	return Info{}, fs.ErrNotExist
}

// Stat implements [Store].
func (m *Map) Stat(_ context.Context, path string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stat(path)
}

// List implements [Store].
func (m *Map) List(_ context.Context, dir string) ([]Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if info, err := m.stat(dir); err != nil || !info.Dir {
		return nil, fs.ErrNotExist
	}
	byName := map[string]Info{}
	for _, p := range m.below(dir) {
		name, rest, deeper := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"), "/")
		byName[name] = Info{Name: name, Dir: deeper && rest != "", Size: int64(len(m.files[p]))}
	}
	infos := make([]Info, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		info := byName[name]
		if info.Dir {
			info.Size = 0
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Read implements [Store].
func (m *Map) Read(_ context.Context, path string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(data), nil
}

// Create implements [Store].
func (m *Map) Create(_ context.Context, path string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isFree(path) {
		return fs.ErrExist
	}
	m.files[path] = bytes.Clone(data)
	return nil
}

// isFree reports whether there can be a file at a path: there is nothing, and none of its
// directories is a file.
func (m *Map) isFree(p string) bool {
	if _, err := m.stat(p); err == nil {
		return false
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if _, ok := m.files[dir]; ok {
			return false
		}
	}
	return true
}

// Replace implements [Store].
func (m *Map) Replace(_ context.Context, path string, before, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, ok := m.files[path]
	switch {
	case !ok:
		return fs.ErrNotExist
	case !bytes.Equal(now, before):
		return ErrChanged
	}
	m.files[path] = bytes.Clone(data)
	return nil
}

// Remove implements [Store].
func (m *Map) Remove(_ context.Context, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.stat(path); err != nil {
		return err
	}
	for _, p := range m.below(path) {
		delete(m.files, p)
	}
	delete(m.files, path)
	return nil
}

// Rename implements [Store].
func (m *Map) Rename(_ context.Context, from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.stat(from); err != nil {
		return err
	}
	if !m.isFree(to) {
		return fs.ErrExist
	}
	for _, p := range append(m.below(from), from) {
		if data, ok := m.files[p]; ok {
			delete(m.files, p)
			m.files[to+strings.TrimPrefix(p, from)] = data
		}
	}
	return nil
}
