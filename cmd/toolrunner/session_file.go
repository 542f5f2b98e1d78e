package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolrunner/toolrunner/internal/filelock"
)

// Where sessions, their locks and the key that seals them are, outside of what tools
// may reach.

// folders are the user's folders for this program.
type folders struct{ config, state string }

// userFolders follows the XDG base directory specification, on all systems.
func userFolders(env func(string) string) (folders, error) {
	home := cmp.Or(env("HOME"), env("USERPROFILE"))
	of := func(variable, standard string) string {
		if set := env(variable); filepath.IsAbs(set) {
			return filepath.Join(set, "toolrunner")
		}
		return filepath.Join(home, standard, "toolrunner")
	}
	f := folders{of("XDG_CONFIG_HOME", ".config"), of("XDG_STATE_HOME", filepath.Join(".local", "state"))}
	if !filepath.IsAbs(f.config) || !filepath.IsAbs(f.state) {
		return f, errors.New("there is no place for sessions: set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME")
	}
	return f, nil
}

// sessionPath returns where a session is: a name stands for a file in the user's
// state folder, anything with a separator for itself.
func (f folders) sessionPath(name string) (string, error) {
	path := name
	if !strings.ContainsRune(name, '/') && !strings.ContainsRune(name, filepath.Separator) {
		path = filepath.Join(f.state, "sessions", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
	}
	return realPath(path)
}

// realPath returns the path of a file without symbolic links. The file, and folders
// above it, need not be there.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		found, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(found, rest), nil
		}
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a symbolic link to nowhere", at)
		}
		if at == filepath.Dir(at) {
			return path, nil
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// within reports whether a path is in a folder, or is the folder.
func within(path, folder string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// keepApart returns an error if a tool of the run could reach the session or the key:
// who can write to both can make the run do anything.
func (o *runOptions) keepApart(session string, f folders) error {
	if len(o.tools) == 0 {
		return nil
	}
	dir, err := realPath(o.dir)
	if err != nil {
		return err
	}
	for _, path := range []string{session, f.config, f.state} {
		resolved, err := realPath(path)
		if err != nil {
			return err
		}
		if within(resolved, dir) {
			return fmt.Errorf("-tools could reach %s, as it is in -dir %s: give a name without a /, which is kept in %s, or another -dir", resolved, dir, filepath.Join(f.state, "sessions"))
		}
	}
	return nil
}

// lock keeps other processes from the session until the file that it returns is closed.
func (f folders) lock(session string) (*os.File, error) {
	name := sha256.Sum256([]byte(session))
	path := filepath.Join(f.state, "locks", hex.EncodeToString(name[:16]))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := filelock.Try(file)
	if err == nil && !ok {
		holder, _ := os.ReadFile(path)
		err = fmt.Errorf("it is in use by the process %s: wait for it to end, or end it, or use another -session", cmp.Or(string(bytes.TrimSpace(holder)), "that has just begun"))
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// sealKey returns the user's key, which is made when it is asked for first.
func (f folders) sealKey() ([]byte, error) {
	const size = 32
	path := filepath.Join(f.config, "session.key")
	if err := os.MkdirAll(f.config, 0o700); err != nil {
		return nil, err
	}
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := writeKey(path, size); err != nil {
			return nil, err
		}
		key, err = os.ReadFile(path)
	}
	if err == nil && len(bytes.TrimSpace(key)) != 2*size {
		err = fmt.Errorf("%s is no key: remove it, and the sessions that were sealed with it are lost", path)
	}
	return bytes.TrimSpace(key), err
}

// writeKey makes a key, unless another process is faster. It is never there in part.
func writeKey(path string, size int) error {
	key := make([]byte, size)
	_, _ = rand.Read(key) // it never fails
	temporary, err := os.CreateTemp(filepath.Dir(path), "key")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // it is gone if it was renamed
	_, err = temporary.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(temporary.Name(), path) // a file system without links
	}
	return nil
}

// guarded are files that file tools must not touch, such as that of -mcp: it says what
// the next run starts.
type guarded struct {
	dir   string
	files []string
}

// guarded returns the files that the run depends on.
func (o *runOptions) guarded() guarded {
	g := guarded{dir: o.dir}
	for _, path := range []string{o.servers, o.session} {
		if path == "" {
			continue
		}
		if resolved, err := realPath(path); err == nil {
			g.files = append(g.files, resolved)
		}
	}
	return g
}

// refuses reports whether a tool's path leads to one of the files.
func (g guarded) refuses(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.dir, path)
	}
	resolved, err := realPath(path)
	if err != nil {
		return true
	}
	info, statErr := os.Stat(resolved)
	return slices.ContainsFunc(g.files, func(file string) bool {
		kept, err := os.Stat(file)
		return resolved == file || statErr == nil && err == nil && os.SameFile(info, kept)
	})
}
