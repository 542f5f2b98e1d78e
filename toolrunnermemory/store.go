package toolrunnermemory

import (
	"context"
	"errors"
)

// ErrChanged is what [Store.Replace] returns for a file that no longer has the content that it
// was given.
var ErrChanged = errors.New("the file has changed")

// Store keeps the files of a memory. A path is below the root of the store, separated by slashes
// and clean, such as "notes/a.md"; the root is "". Names may begin with a dot.
//
// Errors for which errors.Is reports [fs.ErrNotExist] or [fs.ErrExist], and ErrChanged, are told
// the model in words. The text of any other error does not reach the model; it is the private
// cause of a failed result. A Store must be safe for concurrent use: several conversations may
// share it.
type Store interface {
	// Stat describes a file or a directory.
	Stat(ctx context.Context, path string) (Info, error)
	// List describes what is in a directory, sorted by name.
	List(ctx context.Context, dir string) ([]Info, error)
	// Read returns the content of a file, which the caller may modify.
	Read(ctx context.Context, path string) ([]byte, error)
	// Create makes a file, and the directories that it needs. It returns fs.ErrExist if there
	// is something of that name.
	Create(ctx context.Context, path string, data []byte) error
	// Replace changes the content of a file from before to data, at once. It returns
	// ErrChanged if the content is not before.
	Replace(ctx context.Context, path string, before, data []byte) error
	// Remove removes a file, or a directory with all that is in it.
	Remove(ctx context.Context, path string) error
	// Rename moves a file or a directory, and makes the directories that it needs. It returns
	// fs.ErrExist if there is something of the new name.
	Rename(ctx context.Context, from, to string) error
}

// Info describes a file or a directory.
type Info struct {
	Name string // the last element of its path
	Dir  bool
	Size int64 // bytes; of a directory it does not count
}
