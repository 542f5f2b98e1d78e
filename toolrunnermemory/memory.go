package toolrunnermemory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// Options bound a memory. The zero value has the documented defaults.
type Options struct {
	// CacheControl sets a cache breakpoint at the tool's definition.
	CacheControl anthropic.BetaCacheControlEphemeralParam
	// MaxFile is how many bytes a file may have. A larger write fails; a larger file is shown up
	// to there. Zero means 1 MiB.
	MaxFile int64
	// MaxFiles is how many files and directories there may be. Zero means 2,000.
	MaxFiles int
	// ReadOnly allows view and refuses every other command.
	ReadOnly bool
}

const (
	root            = "/memories"
	defaultMaxFile  = 1 << 20
	defaultMaxFiles = 2_000
)

// New returns the API's memory tool over a store. Its calls run alone and in the model's order,
// as they change what they share. The tool may be given to any number of runners.
func New(store Store, options Options) *toolrunner.Tool {
	m := &memory{
		store: store, readOnly: options.ReadOnly,
		maxFile: cmp.Or(options.MaxFile, defaultMaxFile), maxFiles: cmp.Or(options.MaxFiles, defaultMaxFiles),
	}
	native := anthropic.BetaMemoryTool20250818Param{CacheControl: options.CacheControl}
	return &toolrunner.Tool{
		Native:    anthropic.BetaToolUnionParam{OfMemoryTool20250818: &native},
		Handler:   m.handle,
		Exclusive: true,
		ReadOnly:  options.ReadOnly,
	}
}

// memory answers the commands of the tool.
type memory struct {
	store    Store
	maxFile  int64
	maxFiles int
	readOnly bool
}

// input is what the model gives, whatever the command.
type input struct {
	Command    string `json:"command"`
	Path       string `json:"path"`
	ViewRange  []int  `json:"view_range"`
	FileText   string `json:"file_text"`
	OldStr     string `json:"old_str"`
	NewStr     string `json:"new_str"`
	InsertLine int    `json:"insert_line"`
	InsertText string `json:"insert_text"`
	OldPath    string `json:"old_path"`
	NewPath    string `json:"new_path"`
}

// refusal is an error whose text is for the model.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

func (m *memory) handle(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
	var in input
	if err := call.Decode(&in); err != nil {
		return nil, cmp.Or(errors.Unwrap(err), err) // what is wrong, without what was to be done
	}
	text, err := m.run(ctx, &in)
	var said refusal
	switch {
	case err == nil:
		return toolrunner.TextResult(text), nil
	case errors.As(err, &said):
		return toolrunner.ErrorResult(said.Error()), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	failed := toolrunner.ErrorResult("The memory could not be used: the store failed.")
	failed.Err = err
	return failed, nil
}

func (m *memory) run(ctx context.Context, in *input) (string, error) {
	if m.readOnly && in.Command != "view" {
		return "", refuse("This memory is read-only: view is the only command, and %q was not run.", in.Command)
	}
	switch in.Command {
	case "view":
		return m.view(ctx, in)
	case "create":
		return m.create(ctx, in)
	case "str_replace":
		return m.replace(ctx, in)
	case "insert":
		return m.insert(ctx, in)
	case "delete":
		return m.remove(ctx, in)
	case "rename":
		return m.rename(ctx, in)
	}
	return "", refuse("Unknown command: %q. The commands are view, create, str_replace, insert, delete and rename.", in.Command)
}

// place returns where in the store a path leads.
func place(name string) (string, error) {
	below, ok := strings.CutPrefix(name, root)
	if !ok || below != "" && below[0] != '/' {
		return "", refuse("Path must start with /memories, got: %s", name)
	}
	if strings.ContainsAny(name, "\x00\\") {
		return "", refuse("Path %q contains a character that no path may have", name)
	}
	depth := 0
	for element := range strings.SplitSeq(below, "/") {
		switch element {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return "", refuse("Path %s would escape /memories directory", name)
		}
	}
	return strings.TrimPrefix(path.Clean("/"+below), "/"), nil
}

// inside is place for a path that is not the root, with what the refusal of that one is.
func inside(name, verb string) (string, error) {
	at, err := place(name)
	if err == nil && at == "" {
		return "", refuse("Cannot %s the /memories directory itself", verb)
	}
	return at, err
}

func missing(name string) error {
	return refuse("The path %s does not exist. Please provide a valid path.", name)
}

func (m *memory) create(ctx context.Context, in *input) (string, error) {
	at, err := inside(in.Path, "create")
	if err != nil {
		return "", err
	}
	if err := m.fits(in.Path, len(in.FileText)); err != nil {
		return "", err
	}
	if err := m.hasRoom(ctx); err != nil {
		return "", err
	}
	switch err := m.store.Create(ctx, at, []byte(in.FileText)); {
	case errors.Is(err, fs.ErrExist):
		return "", refuse("File %s already exists", in.Path)
	case err != nil:
		return "", err
	}
	return "File created successfully at: " + in.Path, nil
}

// fits refuses a file that would be too large.
func (m *memory) fits(name string, size int) error {
	if int64(size) > m.maxFile {
		return refuse("File %s would have %d bytes, and a file may have %d. Please split it.", name, size, m.maxFile)
	}
	return nil
}

// hasRoom refuses one file more than there may be.
func (m *memory) hasRoom(ctx context.Context) error {
	count := 0
	dirs := []string{""}
	for len(dirs) > 0 {
		dir := dirs[0]
		dirs = dirs[1:]
		entries, err := m.store.List(ctx, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if count += len(entries); count >= m.maxFiles {
			return refuse("The memory is full: there are %d files, and no more are allowed. Please delete some first.", m.maxFiles)
		}
		for _, e := range entries {
			if e.Dir {
				dirs = append(dirs, path.Join(dir, e.Name))
			}
		}
	}
	return nil
}

func (m *memory) remove(ctx context.Context, in *input) (string, error) {
	at, err := inside(in.Path, "delete")
	if err != nil {
		return "", err
	}
	switch err := m.store.Remove(ctx, at); {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse("The path %s does not exist", in.Path)
	case err != nil:
		return "", err
	}
	return "Successfully deleted " + in.Path, nil
}

func (m *memory) rename(ctx context.Context, in *input) (string, error) {
	from, err := inside(in.OldPath, "rename")
	if err != nil {
		return "", err
	}
	to, err := inside(in.NewPath, "rename to")
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(to, from+"/") {
		return "", refuse("Cannot rename %s to %s: that is inside of it", in.OldPath, in.NewPath)
	}
	switch err := m.store.Rename(ctx, from, to); {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse("The path %s does not exist", in.OldPath)
	case errors.Is(err, fs.ErrExist):
		return "", refuse("The destination %s already exists", in.NewPath)
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("Successfully renamed %s to %s", in.OldPath, in.NewPath), nil
}
