package toolrunner_test

import (
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
