package toolrunnermemory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// attempts is how often an edit is made again when somebody else has changed the file
// meanwhile.
const attempts = 5

// edit changes the text of a file. change says what the model reads of it.
func (m *memory) edit(ctx context.Context, name string, change func(text string) (edited, answer string, err error)) (string, error) {
	at, err := place(name)
	if err != nil {
		return "", err
	}
	switch info, err := m.store.Stat(ctx, at); {
	case at == "", err == nil && info.Dir:
		return "", refuse("The path %s is not a file.", name)
	case errors.Is(err, fs.ErrNotExist):
		return "", missing(name)
	case err != nil:
		return "", err
	}
	for range attempts {
		before, err := m.read(ctx, at, name)
		if err != nil {
			return "", err
		}
		edited, answer, err := change(before)
		if err == nil {
			err = m.fits(name, len(edited))
		}
		if err != nil {
			return "", err
		}
		if err = m.store.Replace(ctx, at, []byte(before), []byte(edited)); !errors.Is(err, ErrChanged) {
			if errors.Is(err, fs.ErrNotExist) {
				return "", missing(name)
			}
			return answer, err
		}
	}
	return "", refuse("The file %s is being changed by somebody else. Please view it and try again.", name)
}

func (m *memory) replace(ctx context.Context, in *input) (string, error) {
	if in.OldStr == "" {
		return "", refuse("No replacement was performed, old_str is empty. Use insert to add text.")
	}
	return m.edit(ctx, in.Path, func(text string) (string, string, error) {
		switch strings.Count(text, in.OldStr) {
		case 0:
			return "", "", refuse("No replacement was performed, old_str `%s` did not appear verbatim in %s.", in.OldStr, in.Path)
		case 1:
		default:
			return "", "", refuse("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique", in.OldStr, occurrences(text, in.OldStr))
		}
		before, after, _ := strings.Cut(text, in.OldStr)
		edited := before + in.NewStr + after
		lines, at := strings.Split(edited, "\n"), strings.Count(before, "\n")+1
		const around = 2
		snippet := numbered(lines, max(1, at-around), min(len(lines), at+around))
		return edited, "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + snippet, nil
	})
}

// occurrences lists the lines on which a text occurs, also where occurrences overlap.
func occurrences(text, old string) string {
	const most = 50
	var lines []string
	line, counted := 1, 0
	for at := 0; ; at++ {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		at += i
		line += strings.Count(text[counted:at], "\n")
		counted = at
		if len(lines) == most {
			return strings.Join(lines, ", ") + ", ..."
		}
		lines = append(lines, strconv.Itoa(line))
	}
}

func (m *memory) insert(ctx context.Context, in *input) (string, error) {
	return m.edit(ctx, in.Path, func(text string) (string, string, error) {
		var lines []string
		if text != "" {
			lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		if in.InsertLine < 0 || in.InsertLine > len(lines) {
			return "", "", refuse("Invalid `insert_line` parameter: %d. It should be within the range [0, %d].", in.InsertLine, len(lines))
		}
		all := append(append(append([]string(nil), lines[:in.InsertLine]...), strings.TrimRight(in.InsertText, "\n")), lines[in.InsertLine:]...)
		return strings.Join(all, "\n") + "\n", fmt.Sprintf("The file %s has been edited.", in.Path), nil
	})
}
