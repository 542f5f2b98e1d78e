package toolrunner_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackageCommentMapsEveryFile(t *testing.T) {
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var mapped []string
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+\.go) `).FindAllSubmatch(comment, -1) {
		mapped = append(mapped, string(row[1]))
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return file == "doc.go" || strings.HasSuffix(file, "_test.go") })
	slices.Sort(mapped)
	if diff := cmp.Diff(files, mapped); diff != "" {
		t.Errorf("files of the package comment (-want +got):\n%s", diff)
	}
}
