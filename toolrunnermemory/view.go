package toolrunnermemory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLines is how many lines can be numbered with six digits.
const maxLines = 999_999

func (m *memory) view(ctx context.Context, in *input) (string, error) {
	at, err := place(in.Path)
	if err != nil {
		return "", err
	}
	info := Info{Dir: true}
	if at != "" { // the root is there, also before anything is in it
		info, err = m.store.Stat(ctx, at)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", missing(in.Path)
	case err != nil:
		return "", err
	case info.Dir:
		return m.viewDir(ctx, at, strings.TrimRight(in.Path, "/"))
	}
	return m.viewFile(ctx, at, in)
}

// viewDir lists a directory, two levels deep.
func (m *memory) viewDir(ctx context.Context, at, name string) (string, error) {
	entries, size, err := m.walk(ctx, at, name, 1)
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("Here're the files and directories up to 2 levels deep in %s, excluding hidden items:", name)
	return strings.Join(append([]string{head, sizeText(size) + "\t" + name}, entries...), "\n"), nil
}

// walk returns the lines of a directory's entries, and the size of the files among them.
func (m *memory) walk(ctx context.Context, at, name string, level int) (lines []string, size int64, err error) {
	entries, err := m.store.List(ctx, at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be gone meanwhile
		return nil, 0, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name, ".") {
			continue
		}
		full := name + "/" + e.Name
		if !e.Dir {
			size += e.Size
			lines = append(lines, sizeText(e.Size)+"\t"+full)
			continue
		}
		var below []string
		var inner int64
		if level < 2 {
			if below, inner, err = m.walk(ctx, path.Join(at, e.Name), full, level+1); err != nil {
				return nil, 0, err
			}
		}
		size += inner
		lines = append(append(lines, sizeText(inner)+"\t"+full+"/"), below...)
	}
	return lines, size, nil
}

// sizeText returns a size as people read it.
func sizeText(bytes int64) string {
	const unit = 1024
	value, units := float64(bytes), "BKMGT"
	for value >= unit && len(units) > 1 {
		value /= unit
		units = units[1:]
	}
	if value == float64(int64(value)) {
		return strconv.FormatInt(int64(value), 10) + units[:1]
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + units[:1]
}

func (m *memory) viewFile(ctx context.Context, at string, in *input) (string, error) {
	text, err := m.read(ctx, at, in.Path)
	if err != nil {
		return "", err
	}
	cut := ""
	if int64(len(text)) > m.maxFile {
		end := int(m.maxFile)
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		cut = fmt.Sprintf("\n(The file has %d bytes and is shown up to %d.)", len(text), end)
		text = text[:end]
	}
	lines := strings.Split(text, "\n")
	if len(lines) > maxLines {
		return "", refuse("File %s exceeds maximum line limit of 999,999 lines.", in.Path)
	}
	first, last := 1, len(lines)
	if len(in.ViewRange) == 2 {
		first, last = max(1, in.ViewRange[0]), in.ViewRange[1]
		if last == -1 || last > len(lines) {
			last = len(lines)
		}
		if last < first {
			return "", refuse("Invalid `view_range` parameter: [%d, %d]. It should be two lines of the file, of which there are %d, the first one first; -1 stands for the last.",
				in.ViewRange[0], in.ViewRange[1], len(lines))
		}
	}
	return fmt.Sprintf("Here's the content of %s with line numbers:\n", in.Path) + numbered(lines, first, last) + cut, nil
}

// read returns the text of a file.
func (m *memory) read(ctx context.Context, at, name string) (string, error) {
	data, err := m.store.Read(ctx, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse("The file %s no longer exists (may have been deleted or renamed concurrently).", name)
	case err != nil:
		return "", err
	case !utf8.Valid(data):
		return "", refuse("The file %s is not UTF-8 text, and is left as it is.", name)
	}
	return string(data), nil
}

// numbered returns lines, from one number to another, with their numbers.
func numbered(lines []string, first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		if i > first {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%6d\t%s", i, lines[i-1])
	}
	return b.String()
}
