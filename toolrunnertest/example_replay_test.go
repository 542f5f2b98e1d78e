package toolrunnertest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func ExampleReplay() {
	srv := toolrunnertest.Replay(printer{}, toolrunnertest.Recording{Dir: "testdata/recording"})
	defer srv.Close()
	fmt.Println(say(srv, "Hello!"))
	fmt.Println(say(srv, "Goodbye!"))
	// Output:
	// Good day.
	// toolrunnertest: the script has no reply left for request 2
	// an error
}

func ExampleRecord() {
	endpoint := httptest.NewServer(toolrunnertest.NewServer(nil, toolrunnertest.Text("Good day."))) // stands for https://api.anthropic.com
	defer endpoint.Close()
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	proxy, err := toolrunnertest.Record(dir, endpoint.URL)
	if err != nil {
		fmt.Println(err)
		return
	}

	// A program in any language talks to the proxy.
	body := `{"model":"claude-test","max_tokens":100,"messages":[{"role":"user","content":"Hello!"}]}`
	request := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	request.Header.Set("X-Api-Key", "secret")
	proxy.ServeHTTP(httptest.NewRecorder(), request)

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		fmt.Println(filepath.Base(file))
	}
	fmt.Println(err)
	// Output:
	// 001.json
	// 001.request.json
	// 001.response.json
	// <nil>
}
