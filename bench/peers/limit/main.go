// Command limit plays conversations with net/http alone: it keeps the history as
// the bytes of a request, and looks into replies for no more than it needs. It
// handles no error, and takes it that replies have the form that the server gives
// them. It is what no runner can do without.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner/bench/internal/sdk"
	"github.com/toolrunner/toolrunner/bench/internal/work"
)

var thread = flag.Bool("thread", false, "have the server keep the conversation, and send what is new")

var bySDK = flag.Bool("sdk", false, "send plain requests by the client of the official SDK, which is given their bytes and gives those of the reply")

func main() { work.Main(prepare) }

// conversation is one in progress.
type conversation struct {
	job   *work.Job
	body  []byte // of the next request, but for its end
	next  []byte // what it begins with where it continues a thread; nil: it has everything
	reply bytes.Buffer

	messages *anthropic.BetaMessageService // of the SDK; nil: net/http alone
}

func prepare(job *work.Job) (work.Player, error) {
	head := work.Body(job)
	head = head[:len(head)-1]
	if *thread {
		head = append(head, `,"thread":{"type":"create"}`...)
	}
	head = fmt.Appendf(head, `,"messages":[{"role":"user","content":[{"type":"text","text":%q}]}`, work.Prompt)
	var messages *anthropic.BetaMessageService
	if *bySDK {
		client := sdk.Client(job)
		messages = &client.Beta.Messages
	}
	return func(ctx context.Context) (work.Played, error) {
		return play(ctx, conversation{job: job, body: bytes.Clone(head), messages: messages})
	}, nil
}

func play(ctx context.Context, c conversation) (work.Played, error) {
	if *thread {
		c.next = work.Continuing(c.job)
	}
	var p work.Played
	for {
		content, events, err := c.exchange(ctx)
		if err != nil {
			return p, err
		}
		p.Turns++
		p.Events += events
		if !c.answer(content) {
			p.Text, err = strconv.Unquote(string(content[bytes.LastIndex(content, []byte(`:"`))+1 : len(content)-2]))
			return p, err
		}
	}
}

// exchange sends the request, and returns the content of the reply, and how many of its
// events were read.
func (c *conversation) exchange(ctx context.Context) (content []byte, events int, err error) {
	if c.messages != nil {
		if err := c.sendBySDK(ctx); err != nil {
			return nil, 0, err
		}
		return contentOf(&c.reply), 0, nil
	}
	res, err := c.send(ctx)
	if err != nil {
		return nil, 0, err
	}
	if c.job.Stream == "" {
		c.reply.Reset()
		_, err = c.reply.ReadFrom(res.Body)
		content = contentOf(&c.reply)
	} else {
		content, events, err = readStream(res.Body, c.job)
	}
	return content, events, errors.Join(err, res.Body.Close())
}

func contentOf(reply *bytes.Buffer) []byte {
	return between(reply.Bytes(), `"content":`, `,"stop_reason"`)
}

func (c *conversation) send(ctx context.Context) (*http.Response, error) {
	c.body = append(c.body, "]}"...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.job.URL()+"/v1/messages?beta=true", bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	c.body = c.body[:len(c.body)-2]
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if *thread {
		req.Header.Set("Anthropic-Beta", work.ThreadsBeta)
	}
	res, err := c.job.Client.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return res, err
}

// sendBySDK sends the request by the SDK and takes the reply.
func (c *conversation) sendBySDK(ctx context.Context) error {
	c.body = append(c.body, "]}"...)
	var raw []byte
	params := anthropic.BetaMessageNewParams{Model: work.Model, MaxTokens: work.MaxTokens}
	_, err := c.messages.New(ctx, params, option.WithRequestBody("application/json", bytes.NewReader(c.body)),
		option.WithHeader("Anthropic-Beta", work.ThreadsBeta), option.WithResponseBodyInto(&raw))
	c.body = c.body[:len(c.body)-2]
	c.reply.Reset()
	c.reply.Write(raw)
	return err
}

// answer runs the calls of a reply and appends both to the history. It reports
// false if there are none.
func (c *conversation) answer(content []byte) bool {
	call := []byte(`{"type":"tool_use","id":"`)
	at := bytes.Index(content, call)
	if at < 0 {
		return false
	}
	if c.next == nil {
		c.body = append(append(append(c.body, `,{"role":"assistant","content":`...), content...), `},`...)
	} else {
		c.body = append(append(append(c.body[:0], c.next...), between(c.reply.Bytes(), `"id":"`, `"`)...), `"},"messages":[`...)
	}
	c.body = append(c.body, `{"role":"user","content":[`...)
	for rest := content; at >= 0; at = bytes.Index(rest, call) {
		rest = rest[at+len(call):]
		id := rest[:bytes.IndexByte(rest, '"')]
		name := between(rest, `"name":"`, `"`)
		input := rest[bytes.Index(rest, []byte(`"input":`))+len(`"input":`):]
		c.body = append(append(append(c.body, `{"type":"tool_result","tool_use_id":"`...), id...), `","content":[{"type":"text","text":`...)
		c.body = appendQuoted(c.body, run(string(name), input, c.job.Text))
		c.body = append(c.body, "}]},"...)
	}
	c.body = append(c.body[:len(c.body)-1], "]}"...)
	return true
}

// run runs a tool with the input that data begins with.
func run(name string, data []byte, result string) string {
	end := bytes.IndexByte(data, '}') + 1
	if name == "take" {
		end = len(data) - len("}]")
		var in work.Lines
		if err := json.Unmarshal(data[:end], &in); err != nil {
			return err.Error()
		}
		return work.Take(in)
	}
	var in work.Input
	if err := json.Unmarshal(data[:end], &in); err != nil {
		return err.Error()
	}
	text, err := work.Run(in, result)
	if err != nil {
		return err.Error()
	}
	return text
}

func between(data []byte, before, after string) []byte {
	data = data[bytes.Index(data, []byte(before))+len(before):]
	return data[:bytes.Index(data, []byte(after))]
}

// appendQuoted appends text as JSON. Of what is to be escaped it knows what
// results of these tools hold.
func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', c)
		}
	}
	return append(append(dst, text[start:]...), '"')
}

// readStream puts the content of a streamed reply together. If events are to be
// read, it makes a string of what each adds.
func readStream(body io.Reader, job *work.Job) (content []byte, events int, err error) {
	lines := lineReader{src: body, buf: make([]byte, 0, 32<<10)}
	content = append(content, '[')
	input := false
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return append(content, ']'), events, nil
		}
		if err != nil {
			return nil, events, err
		}
		data, ok := bytes.CutPrefix(line[:len(line)-1], []byte("data: "))
		if !ok {
			continue
		}
		switch {
		case bytes.HasPrefix(data, []byte(`{"type":"content_block_delta"`)):
			added := data[len(`{"type":"content_block_delta"`) : len(data)-len(`"}}`)]
			added = added[bytes.Index(added, []byte(`_delta","`))+len(`_delta","`):]
			if bytes.HasPrefix(added, []byte("signature")) {
				continue
			}
			added = added[bytes.IndexByte(added, ':')+len(`:"`):]
			if input {
				content = appendUnquoted(content, added)
			} else {
				content = append(content, added...)
			}
			if job.Read {
				events += min(1, len(text(added)))
			}
		case bytes.HasPrefix(data, []byte(`{"type":"content_block_start"`)):
			start := data[bytes.Index(data, []byte(`"content_block":`))+len(`"content_block":`):]
			if len(content) > 1 {
				content = append(content, ',')
			}
			input = bytes.Contains(start, []byte(`"input":{}`))
			switch {
			case input:
				content = append(content, start[:len(start)-len(`{}}}`)]...)
			case bytes.Contains(start, []byte(`"signature"`)):
				content = append(content, `{"type":"thinking","signature":"c2lnbmF0dXJl","thinking":"`...)
			default:
				content = append(content, start[:len(start)-len(`"}}`)]...)
			}
		case bytes.HasPrefix(data, []byte(`{"type":"content_block_stop"`)):
			if !input {
				content = append(content, '"')
			}
			content = append(content, '}')
		}
	}
}

// text returns what a delta adds, as a caller gets it.
func text(content []byte) string {
	if bytes.IndexByte(content, '\\') < 0 {
		return string(content)
	}
	return string(appendUnquoted(make([]byte, 0, len(content)), content))
}

// appendUnquoted undoes the escapes that these streams hold.
func appendUnquoted(dst, content []byte) []byte {
	for {
		at := bytes.IndexByte(content, '\\')
		if at < 0 {
			return append(dst, content...)
		}
		dst = append(dst, content[:at]...)
		c := content[at+1]
		if c == 'n' {
			c = '\n'
		}
		dst = append(dst, c)
		content = content[at+2:]
	}
}

// lineReader cuts lines out of a buffer.
type lineReader struct {
	src io.Reader
	buf []byte
	at  int
}

// next returns the next line with its end. It is there until the next call.
func (r *lineReader) next() ([]byte, error) {
	for {
		if n := bytes.IndexByte(r.buf[r.at:], '\n'); n >= 0 {
			line := r.buf[r.at : r.at+n+1]
			r.at += n + 1
			return line, nil
		}
		r.buf = append(r.buf[:0], r.buf[r.at:]...)
		r.at = 0
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if n == 0 && err != nil {
			return nil, err
		}
	}
}
