package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/bedrock"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// cloud is Amazon Bedrock in front of a scripted API: the model and whether to stream are
// in the path, the version is in the body, and streams are binary.
type cloud struct {
	t     *testing.T
	api   string // its URL
	paths []string
}

// RoundTrip implements [http.RoundTripper].
func (c *cloud) RoundTrip(r *http.Request) (*http.Response, error) {
	c.paths = append(c.paths, r.URL.Path)
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // model, its name, what to do
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") || body["anthropic_version"] == nil {
		c.t.Errorf("the request is not signed, or has no version")
	}
	if body["thread"] != nil {
		c.t.Errorf("the request has the thread %v", body["thread"])
	}
	delete(body, "anthropic_version")
	body["model"], body["stream"] = part[1], part[2] != "invoke"
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, c.api+"/v1/messages", bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"X-Api-Key": {"key"}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || part[2] == "invoke" {
		return response, err
	}
	defer response.Body.Close()
	binary, err := frames(response.Body)
	response.Header = http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}
	response.Body = io.NopCloser(binary)
	return response, err
}

// frames turns a stream of events into binary frames.
func frames(stream io.Reader) (io.Reader, error) {
	var out bytes.Buffer
	encoder := eventstream.NewEncoder()
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		message := eventstream.Message{Payload: fmt.Appendf(nil, `{"bytes":%q}`, base64.StdEncoding.EncodeToString([]byte(data)))}
		message.Headers.Set(":message-type", eventstream.StringValue("event"))
		message.Headers.Set(":event-type", eventstream.StringValue("chunk"))
		if err := encoder.Encode(&out, message); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

func newCloud(t *testing.T) (*cloud, anthropic.Client) {
	t.Helper()
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild.").Expect(toolrunnertest.HasResult("toolu_1", "21 degrees in Paris")),
	)
	url, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, api: url}
	return c, anthropic.NewClient(bedrock.WithConfig(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), option.WithHTTPClient(&http.Client{Transport: c}))
}

func TestAskRunsOnBedrock(t *testing.T) {
	c, client := newCloud(t)
	answer, err := ask(t.Context(), client, "us.anthropic.claude", "How is the weather in Paris?")
	if answer != "It is mild." || err != nil {
		t.Errorf("ask() = %q, %v", answer, err)
	}
	if c.paths[1] != "/model/us.anthropic.claude/invoke" {
		t.Errorf("the paths are %q", c.paths)
	}
}

// T29 of message threads: Bedrock has none, so each request holds the whole history.
func TestBedrockHasNoMessageThreads(t *testing.T) {
	c, client := newCloud(t)
	runner, err := newRunner(client, "us.anthropic.claude", "How is the weather in Paris?")
	if err != nil {
		t.Fatal(err)
	}
	runner.Params.MessageThread = true
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.paths) != 2 {
		t.Errorf("the paths are %q, want two", c.paths)
	}
}

func TestStreamingRunsOnBedrock(t *testing.T) {
	c, client := newCloud(t)
	runner, err := newRunner(client, "us.anthropic.claude", "How is the weather in Paris?")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for turn, err := range runner.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for event := range turn.Events() {
			text += event.Text
		}
	}
	if text != "It is mild." || c.paths[1] != "/model/us.anthropic.claude/invoke-with-response-stream" {
		t.Errorf("the text is %q, the paths are %q", text, c.paths)
	}
}
