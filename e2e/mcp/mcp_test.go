// Package mcp_test runs public MCP servers; see the README.
package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	enable   = "TOOLRUNNER_E2E_MCP"
	packages = "@modelcontextprotocol/server-"
	version  = "@2026.8.31"
)

// row is a call and what must be in its result.
type row struct {
	tool, input string
	want        []string
}

const (
	isError    = `"is_error":true`
	isImage    = `"media_type":"image/png","type":"base64"},"type":"image"`
	isDocument = `"type":"document"`
)

func TestEverythingOverStdio(t *testing.T) {
	run(t, &mcp.CommandTransport{Command: server(t, "everything")}, everything)
}

func TestEverythingOverStreamableHTTP(t *testing.T) {
	command := server(t, "everything", "streamableHttp")
	port := freePort(t)
	command.Env = append(os.Environ(), "PORT="+port)
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening") {
			break
		}
	}
	run(t, &mcp.StreamableClientTransport{Endpoint: "http://127.0.0.1:" + port + "/mcp"}, everything)
}

var everything = []row{
	{"s_echo", `{"message":"hi <é>"}`, []string{`Echo: hi <é>`}},
	{"s_get-sum", `{"a":9007199254740993,"b":0}`, []string{`The sum of`}},
	{"s_get-sum", `{"a":"one"}`, []string{isError, `expected number`}},
	{"s_get-tiny-image", `{}`, []string{isImage}},
	{"s_get-annotated-message", `{"messageType":"error","includeImage":true}`, []string{isImage}},
	{"s_get-structured-content", `{"location":"Chicago"}`, []string{`temperature`}},
	{"s_get-resource-links", `{"count":2}`, []string{`Resource: demo://`, `Type: text/plain`}},
	{"s_get-resource-reference", `{"resourceType":"Text","resourceId":1}`, []string{isDocument, `"title":"demo://`}},
	{"s_get-resource-reference", `{"resourceType":"Blob","resourceId":1}`, []string{isDocument}},
	{"s_gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain;base64,aGk=","outputType":"resource"}`, []string{`is not shown: only text`}},
	{"s_trigger-long-running-operation", `{"duration":1,"steps":2}`, []string{`completed`}},
	{"s_get-roots-list", `{}`, []string{`oots`}},
	{"s_none", `{}`, []string{isError, `not found`}},
}

func TestFilesystem(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	image := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0eIDATx\x9cbb\x00\x04\x00\x00\xff\xff\x00\x06\x00\x03\xfa\xd0Y\xae\x00\x00\x00\x00IEND\xaeB`\x82")
	if err := os.WriteFile(filepath.Join(root, "a.png"), image, 0o600); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return fmt.Sprintf(`{"path":%q}`, filepath.Join(root, name)) }
	run(t, &mcp.CommandTransport{Command: server(t, "filesystem", root)}, []row{
		{"s_write_file", fmt.Sprintf(`{"path":%q,"content":"one\ntwo"}`, filepath.Join(root, "a.txt")), []string{`Successfully wrote`}},
		{"s_read_text_file", path("a.txt"), []string{`one\ntwo`}},
		{"s_edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"two","newText":"three"}]}`, filepath.Join(root, "a.txt")), []string{`+three`}},
		{"s_list_directory", path(""), []string{`[FILE] a.txt`}},
		{"s_read_media_file", path("a.png"), []string{isImage}},
		{"s_read_text_file", `{"path":"/etc/passwd"}`, []string{isError, `denied`}},
		{"s_read_text_file", `{}`, []string{isError, `path`}},
	})
}

func TestMemory(t *testing.T) {
	command := server(t, "memory")
	command.Env = append(os.Environ(), "MEMORY_FILE_PATH="+filepath.Join(t.TempDir(), "memory.json"))
	run(t, &mcp.CommandTransport{Command: command}, []row{
		{"s_create_entities", `{"entities":[{"name":"Go","entityType":"language","observations":["has generics"]}]}`, []string{`has generics`}},
		{"s_search_nodes", `{"query":"generics"}`, []string{`language`}},
		{"s_read_graph", `{}`, []string{`entities`}},
		{"s_open_nodes", `{"names":7}`, []string{isError, `expected array`}},
	})
}

// folder is where the servers are installed, once.
var folder = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "mcp-servers-")
	if err != nil {
		return "", err
	}
	arguments := []string{"install", "--no-fund", "--no-audit", "--prefix", folder}
	for _, name := range []string{"everything", "filesystem", "memory"} {
		arguments = append(arguments, packages+name+version)
	}
	if output, err := exec.Command("npm", arguments...).CombinedOutput(); err != nil {
		return folder, fmt.Errorf("npm: %w\n%s", err, output)
	}
	return folder, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(enable) != "" {
		installed, _ := folder()
		_ = os.RemoveAll(installed)
	}
	os.Exit(code)
}

// server is the command of a server, which is not started. It runs without npx,
// which passes no signals on.
func server(t *testing.T, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	if os.Getenv(enable) == "" {
		t.Skip("set " + enable + "=1 to run public servers")
	}
	installed, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(installed, "node_modules", packages+name, "dist", "index.js")
	return exec.Command("node", append([]string{program}, arguments...)...)
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// run has a scripted model make each call in a turn of its own.
func run(t *testing.T, transport mcp.Transport, rows []row) {
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{Prefix: "s_", Progress: true, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, source.ClientOptions(&mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			log.Info("progress", slog.Any("call", r.Params.ProgressToken), slog.Float64("done", r.Params.Progress), slog.Float64("of", r.Params.Total))
		},
	}))
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := source.Attach(session); err != nil {
		t.Fatal(err)
	}
	tools, err := source.AppendTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var script []toolrunnertest.Reply
	for i, row := range rows {
		script = append(script, toolrunnertest.Message(toolrunnertest.Call(fmt.Sprintf("toolu_%d", i), row.tool, row.input)))
	}
	model := toolrunnertest.NewServer(t, append(script, toolrunnertest.Text("Done."))...)
	api := model.Client()
	runner, err := toolrunner.New(&api.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-test", MaxTokens: 100,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Go."))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Follow(t.Context(), runner); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	for i, row := range rows {
		result := string(requests[i+1].ToolResult(fmt.Sprintf("toolu_%d", i)))
		t.Logf("%s %s: %.300s", row.tool, row.input, result)
		for _, want := range row.want {
			if !strings.Contains(result, want) {
				t.Errorf("%s %s: got %.1000s, want %s in it", row.tool, row.input, result, want)
			}
		}
		if failed := strings.Contains(result, isError); failed != (row.want[0] == isError) {
			t.Errorf("%s %s: failed = %v", row.tool, row.input, failed)
		}
	}
	if err := toolrunnertest.CheckRun(requests); err != nil {
		t.Error(err)
	}
}
