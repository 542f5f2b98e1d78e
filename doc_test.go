package toolrunner_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whoever looks for the place of a change starts with docs/design.md.
func TestDesignNamesEveryInternalPackage(t *testing.T) {
	design := string(readFile(t, "docs/design.md"))
	entries, err := os.ReadDir("internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := "internal/" + entry.Name(); entry.IsDir() && !regexp.MustCompile("`"+name+"`").MatchString(design) {
			t.Errorf("docs/design.md does not name %s", name)
		}
	}
}

// A file that docs/design.md names is there, so that its directions lead somewhere.
func TestFilesThatDesignNamesExist(t *testing.T) {
	files := make(map[string]bool)
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[filepath.ToSlash(name)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([\\w/]+\\.(?:go|md|txtar))`").FindAllStringSubmatch(string(readFile(t, "docs/design.md")), -1)
	if len(named) == 0 {
		t.Fatal("docs/design.md names no file")
	}
	for _, m := range named {
		if !files[strings.TrimPrefix(m[1], "./")] {
			t.Errorf("docs/design.md names %s, which is not there", m[1])
		}
	}
}

// Each decision has the heading, the status and the date that the first one asks for.
func TestDecisionsHaveOneForm(t *testing.T) {
	pages, err := filepath.Glob("docs/decisions/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no decisions; error %v", err)
	}
	form := regexp.MustCompile(`^# (\d+)\. [A-Z][^\n]+\n\nStatus: (accepted|replaced by [^\n]+), \d{4}-\d\d-\d\d\n`)
	for _, page := range pages {
		m := form.FindSubmatch(readFile(t, page))
		if m == nil {
			t.Errorf("%s does not begin with a numbered heading, an empty line and a line with status and date", page)
		} else if number := fmt.Sprintf("%04s-", m[1]); !strings.HasPrefix(filepath.Base(page), number) {
			t.Errorf("%s has the number %s", page, m[1])
		}
	}
}
