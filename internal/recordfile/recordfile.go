// Package recordfile keeps records in a file that one process has at a time. After a
// crash at any moment, the file holds what it held before, what it was to hold, or the
// former and a part of what was to be appended.
package recordfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolrunner/toolrunner/internal/filelock"
)

// mode is that of files which hold conversations.
const mode = 0o600

// aside is what the name of the file ends with that is about to replace another.
const aside = ".toolrunner-new"

// File is a file that is locked until it is closed. One goroutine may use it at a time.
type File struct {
	path string // absolute
	file *os.File
	size int64
	step func(string) // called before each step that a crash may prevent; nil but in tests
}

// Open opens the file at path, or creates it, readable for its owner only, and returns
// what is in it. It refuses whatever is no regular file, and a file that another File has
// open, in this process or another.
func Open(path string) (*File, []byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	file, err := openLocked(path)
	if err != nil {
		return nil, nil, err
	}
	f := &File{path: path, file: file}
	data, err := f.read()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return f, data, nil
}

// read makes the file private and its name durable, and returns what is in it.
func (f *File) read() ([]byte, error) {
	if err := makePrivate(f.file); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f.file)
	if err != nil {
		return nil, err
	}
	f.size = int64(len(data))
	return data, syncFolder(f.path)
}

// openLocked opens and locks the file that path leads to. Another process may replace the
// file before it is locked: the next attempt then finds the new one.
func openLocked(path string) (*os.File, error) {
	for attempt := 0; ; attempt++ {
		file, err := openRegular(path)
		if errors.Is(err, fs.ErrExist) && attempt < 10 {
			continue // created since it was looked for
		}
		if err != nil {
			return nil, err
		}
		locked, err := filelock.Try(file)
		if err == nil && !locked {
			err = fmt.Errorf("%s is in use, by another process or by this one: wait until it is closed, or use another file", path)
		}
		if err == nil {
			if err = isAt(file, path); err == nil {
				return file, nil
			}
		}
		err = errors.Join(err, file.Close())
		if !locked || attempt >= 10 {
			return nil, err
		}
	}
}

// openRegular opens the regular file at path, or creates one, and follows no link.
func openRegular(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file (%s); name the file itself", path, info.Mode().Type())
	}
	return os.OpenFile(path, os.O_RDWR|nonblock, 0)
}

// isAt says if a path does not lead to the file, which is regular.
func isAt(file *os.File, path string) error {
	held, err := file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("the file was removed or renamed: %w", err)
	}
	if !held.Mode().IsRegular() || !os.SameFile(held, there) {
		return fmt.Errorf("%s is another file by now: somebody else has replaced it", path)
	}
	return nil
}

// check says if the file is not as it was left.
func (f *File) check() error {
	if err := isAt(f.file, f.path); err != nil {
		return err
	}
	info, err := f.file.Stat()
	if err == nil && info.Size() != f.size {
		err = fmt.Errorf("%s has %d bytes and should have %d: somebody else has written to it", f.path, info.Size(), f.size)
	}
	return err
}

// Path returns the absolute path of the file.
func (f *File) Path() string { return f.path }

// Size returns how many bytes are in the file.
func (f *File) Size() int64 { return f.size }

// Cut leaves the first size bytes of the file.
func (f *File) Cut(size int64) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.file.Truncate(size); err != nil {
		return err
	}
	f.size = size
	return nil
}

// Append adds data at the end. It returns when the data is safe. On an error, the file
// holds what it held before, if that can be done.
func (f *File) Append(data []byte) error {
	if err := f.check(); err != nil {
		return err
	}
	f.before("append")
	_, err := f.file.WriteAt(data, f.size)
	if err == nil {
		f.before("sync appended")
		err = f.file.Sync()
	}
	if err != nil {
		return errors.Join(err, f.file.Truncate(f.size))
	}
	f.size += int64(len(data))
	return nil
}

// Replace puts data in the place of all that is in the file: it is written to a file
// beside it, which then takes its name. Where that cannot be done, as in a folder that
// is read-only, the data is appended.
func (f *File) Replace(data []byte) error {
	if err := f.check(); err != nil {
		return err
	}
	next, err := f.write(data)
	if err == nil {
		if err = f.rename(next); err == nil {
			f.size = int64(len(data))
			f.before("sync folder")
			return syncFolder(f.path)
		}
	}
	return f.Append(data)
}

// write writes data to a locked file beside f. On an error it leaves none.
func (f *File) write(data []byte) (next *os.File, err error) {
	path := f.path + aside
	f.before("remove")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a crash; nobody else has f
		return nil, err
	}
	f.before("create")
	next, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	_, err = filelock.Try(next) // before it has the name by which others find it
	if err == nil {
		f.before("write")
		_, err = next.Write(data)
	}
	if err == nil {
		f.before("sync")
		err = next.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, next.Close(), os.Remove(path))
	}
	return next, nil
}

// rename gives the file beside f its name, and goes on with that one.
func (f *File) rename(next *os.File) error {
	f.before("rename")
	if err := os.Rename(next.Name(), f.path); err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	_ = f.file.Close() // nothing that was written to it is needed
	f.file = next
	return nil
}

func (f *File) before(step string) {
	if f.step != nil {
		f.step(step)
	}
}

// Close closes the file, and lets others open it.
func (f *File) Close() error {
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
