package toolrunnermemory

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Directory is a [Store] in a folder of the file system. Files have the mode 0600 and
// directories 0700. Everything goes through an [os.Root], so no name and no link leads out of
// the folder, whoever changes it meanwhile. Only regular files are read.
//
// Edits of one Directory come one after another. Two processes that edit one file at once do not
// lose a file, but may lose the edit of one of them.
type Directory struct {
	root *os.Root
	mu   sync.Mutex
}

var _ Store = (*Directory)(nil)

// Dir opens the folder at path, which is what the model sees as /memories, and makes it if it is
// not there. The caller must close it.
func Dir(path string) (*Directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("toolrunnermemory: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("toolrunnermemory: %w", err)
	}
	d := &Directory{root: root}
	d.sweep()
	return d, nil
}

// Close closes the folder. Calls that come later fail.
func (d *Directory) Close() error { return d.root.Close() }

// temporary begins the name of a file that is not complete yet, in the root of the folder.
const temporary = ".tmp-"

// sweep removes what writers that have died have left.
func (d *Directory) sweep() {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return // the first use says why
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), temporary) && time.Since(info.ModTime()) > time.Hour {
			_ = d.root.Remove(e.Name()) // it only takes room
		}
	}
}

// local returns the path as the operating system writes it.
func local(p string) string {
	if p == "" {
		return "."
	}
	return filepath.FromSlash(p)
}

// Stat implements [Store].
func (d *Directory) Stat(_ context.Context, path string) (Info, error) {
	info, err := d.root.Stat(local(path))
	if err != nil {
		return Info{}, absent(err)
	}
	return Info{Name: info.Name(), Dir: info.IsDir(), Size: info.Size()}, nil
}

// absent returns the error of a path that leads through a file as one that says that there is
// nothing.
func absent(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return errors.Join(fs.ErrNotExist, err)
	}
	return err
}

// List implements [Store]. It leaves out what is neither a file nor a directory, and links that
// lead out of the folder.
func (d *Directory) List(ctx context.Context, dir string) ([]Info, error) {
	f, err := d.root.Open(local(dir))
	if err != nil {
		return nil, absent(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, absent(err)
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		info, err := d.root.Stat(local(path.Join(dir, e.Name())))
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		if dir == "" && strings.HasPrefix(e.Name(), temporary) {
			continue
		}
		infos = append(infos, Info{Name: e.Name(), Dir: info.IsDir(), Size: info.Size()})
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, ctx.Err()
}

// Read implements [Store].
func (d *Directory) Read(_ context.Context, path string) ([]byte, error) {
	f, err := d.root.OpenFile(local(path), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would block
	if err != nil {
		return nil, absent(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// Create implements [Store].
func (d *Directory) Create(_ context.Context, path string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.makeParent(path); err != nil {
		return err
	}
	if _, err := d.root.Lstat(local(path)); err == nil {
		return fs.ErrExist
	}
	written, err := d.write(data)
	if err != nil {
		return err
	}
	defer func() { _ = d.root.Remove(written) }() // it has another name then
	return d.moveNew(written, path)
}

// makeParent makes the directory that a path is in.
func (d *Directory) makeParent(p string) error {
	dir := path.Dir(p)
	if dir == "." {
		return nil
	}
	err := d.root.MkdirAll(local(dir), 0o700)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return errors.Join(fs.ErrExist, err) // a file is where a directory should be
	}
	return err
}

// write writes data to a file that has no name of its own yet.
func (d *Directory) write(data []byte) (name string, err error) {
	name = temporary + rand.Text()
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		_ = d.root.Remove(name)
		return "", err
	}
	return name, nil
}

// moveNew gives a file a name that nobody has: a second link to it is refused where there is one.
// File systems without links have to do with looking first.
func (d *Directory) moveNew(from, to string) error {
	err := d.root.Link(from, local(to))
	switch {
	case err == nil, errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return err
	}
	return d.root.Rename(from, local(to))
}

// Replace implements [Store].
func (d *Directory) Replace(ctx context.Context, path string, before, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := d.Read(ctx, path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return ErrChanged
	}
	written, err := d.write(data)
	if err != nil {
		return err
	}
	if err := d.root.Rename(written, local(path)); err != nil {
		_ = d.root.Remove(written)
		return err
	}
	return nil
}

// Remove implements [Store].
func (d *Directory) Remove(_ context.Context, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.root.Lstat(local(path)); err != nil {
		return absent(err)
	}
	return d.root.RemoveAll(local(path))
}

// Rename implements [Store].
func (d *Directory) Rename(_ context.Context, from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := d.root.Lstat(local(from))
	if err != nil {
		return absent(err)
	}
	if _, err := d.root.Lstat(local(to)); err == nil {
		return fs.ErrExist
	}
	if err := d.makeParent(to); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return d.root.Rename(local(from), local(to))
	}
	if err := d.moveNew(local(from), to); err != nil {
		return err
	}
	if err := d.root.Remove(local(from)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
