package history

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// assistantBlocks are samples of all blocks that a reply may hold, as the API
// sends them, and of some that are not known yet.
var assistantBlocks = map[string]string{
	"text":                                   `{"citations":null,"text":"a<b>&\u2028","type":"text"}`,
	"text with citations":                    `{"type":"text","text":"x","citations":[{"type":"char_location","cited_text":"c","document_index":0,"document_title":null,"file_id":null,"start_char_index":0,"end_char_index":1}]}`,
	"thinking":                               `{"type":"thinking","thinking":"","signature":"+/=<"}`,
	"redacted_thinking":                      `{"type":"redacted_thinking","data":"+/="}`,
	"tool_use":                               `{"type":"tool_use","id":"u1","name":"pure","input":{"z":12345678901234567890,"a":1.0,"e":1e400,"s":"<"},"caller":{"type":"direct"}}`,
	"tool_use of code":                       `{"type":"tool_use","id":"u2","name":"pure","input":{},"caller":{"type":"later_20300101","tool_id":"s1"}}`,
	"server_tool_use":                        `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q","n":12345678901234567890}}`,
	"web_search_tool_result":                 `{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"e","page_age":null}],"caller":{"type":"direct"}}`,
	"web_search_tool_result error":           `{"type":"web_search_tool_result","tool_use_id":"s1","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`,
	"web_fetch_tool_result":                  `{"type":"web_fetch_tool_result","tool_use_id":"s1","content":{"type":"web_fetch_result","url":"u","retrieved_at":null,"content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"title":null,"citations":null}}}`,
	"advisor_tool_result":                    `{"type":"advisor_tool_result","tool_use_id":"s1","content":{"type":"advisor_result","text":"t"}}`,
	"code_execution_tool_result":             `{"type":"code_execution_tool_result","tool_use_id":"s1","content":{"type":"code_execution_result","stdout":"hello","stderr":"","return_code":0,"content":[]}}`,
	"bash_code_execution_tool_result":        `{"type":"bash_code_execution_tool_result","tool_use_id":"s1","content":{"type":"bash_code_execution_result","stdout":"","stderr":"","return_code":0,"content":[{"type":"bash_code_execution_output","file_id":"f"}]}}`,
	"text_editor_code_execution_tool_result": `{"type":"text_editor_code_execution_tool_result","tool_use_id":"s1","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":"","num_lines":0,"start_line":null,"total_lines":0}}`,
	"tool_search_tool_result":                `{"type":"tool_search_tool_result","tool_use_id":"s1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"pure"}]}}`,
	"mcp_tool_use":                           `{"type":"mcp_tool_use","id":"s2","name":"f","server_name":"s","input":{}}`,
	"mcp_tool_result":                        `{"type":"mcp_tool_result","tool_use_id":"s2","is_error":false,"content":[{"type":"text","text":"","citations":null}]}`,
	"mcp_tool_listing":                       `{"type":"mcp_tool_listing","server_name":"s","tools":[]}`,
	"container_upload":                       `{"type":"container_upload","file_id":"f"}`,
	"compaction":                             `{"type":"compaction","content":null,"encrypted_content":"e"}`,
	"fallback":                               `{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}`,
	"unknown":                                `{"type":"hologram","depth":3,"id":"h","nested":{"type":"text","text":""}}`,
	"unknown member":                         `{"type":"text","text":"x","mood":{"n":0}}`,
	"members twice":                          `{"type":"thinking","thinking":"t","signature":"s","signature":"s"}`,
}

// B033, B053, B054: what came back from the API goes back to it, through any
// number of round trips.
func TestBlocksSurviveRoundTrips(t *testing.T) {
	for name, raw := range assistantBlocks {
		t.Run(name, func(t *testing.T) {
			roundTrip(t, RoleAssistant, raw)
		})
	}
	for name, raw := range map[string]string{
		"text":             `{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`,
		"image":            `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`,
		"document":         `{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]},"title":"","context":null}`,
		"result of text":   `{"type":"tool_result","tool_use_id":"a","content":"42"}`,
		"result of blocks": `{"type":"tool_result","tool_use_id":"a","is_error":false,"content":[{"type":"hologram","depth":3}]}`,
		"result of none":   `{"type":"tool_result","tool_use_id":"a"}`,
		"unknown":          `{"type":"hologram","depth":3}`,
	} {
		t.Run("user "+name, func(t *testing.T) {
			roundTrip(t, RoleUser, raw)
		})
	}
}

// roundTrip takes a message of a block to the SDK's form and back, three times.
func roundTrip(t *testing.T, role, raw string) {
	t.Helper()
	first := JoinMessage(role, [][]byte{[]byte(raw)})
	m := first
	for range 3 {
		p := m.Param()
		encoded, err := json.Marshal(p)
		if err != nil || !wire.Same(encoded, first.Raw) {
			t.Fatalf("the SDK encodes it as %s (%v), want %s", encoded, err, first.Raw)
		}
		back, err := EncodeParam(p)
		if err != nil || !wire.Same(back, first.Raw) {
			t.Fatalf("it comes back as %s (%v), want %s", back, err, first.Raw)
		}
		again, _, err := ReadMessage(back)
		if err != nil && role == RoleAssistant {
			t.Fatal(err)
		}
		m = again.Message
	}
}

// B053: what ToParam of a turn is made of has the bytes of the reply.
func TestRawBlocksKeepTheirBytes(t *testing.T) {
	for name, raw := range assistantBlocks {
		raw += `,{"type":"text","text":"x"}` // thinking may not come last
		r := readTestReply(t, `[`+raw+`]`)
		p := anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: r.Message.RawBlocks()}}
		got, err := EncodeParam(p)
		if want := `{"role":"assistant","content":[` + raw + `]}`; err != nil || string(got) != want {
			t.Errorf("%s: it is encoded as %s (%v), want %s", name, got, err, want)
		}
	}
}

// The samples and the table of blocks, which a test compares with the SDK, are
// about the same blocks.
func TestThereIsASampleOfEachBlock(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(blockKinds)) {
		if assistantBlocks[kind] == "" {
			t.Errorf("there is no sample of %s", kind)
		}
	}
}

// B013: a history that was saved with encoding/json and read again is the same,
// with string content too.
func TestSavedMessagesCanBeReadBack(t *testing.T) {
	h := historyOf(t,
		`{"role":"user","content":"hello"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln+/=<"},`+callA+`]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"42"},{"type":"text","text":"go on"}]}`,
		`{"role":"assistant","content":"fine"}`,
		`{"role":"user","content":"and"}`,
	)
	saved, err := json.Marshal(Params(h.Messages))
	if err != nil {
		t.Fatal(err)
	}
	var read []anthropic.BetaMessageParam
	if err := json.Unmarshal(saved, &read); err != nil {
		t.Fatal(err)
	}
	var again History
	if err := appendAll(&again, read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(valuesOf(t, h), valuesOf(t, &again)); diff != "" {
		t.Errorf("messages after saving and reading (-before +after):\n%s", diff)
	}
}

// valuesOf returns the messages as values, string content as a text block.
func valuesOf(t *testing.T, h *History) [][]any {
	t.Helper()
	var all [][]any
	for _, m := range h.Messages {
		blocks, err := m.Blocks()
		if err != nil {
			t.Fatal(err)
		}
		values := []any{m.Role}
		for _, b := range blocks {
			var v any
			decoder := json.NewDecoder(bytes.NewReader(b.Raw))
			decoder.UseNumber()
			if err := decoder.Decode(&v); err != nil {
				t.Fatal(err)
			}
			if o, ok := v.(map[string]any); ok {
				if text, ok := o["content"].(string); ok {
					o["content"] = []any{map[string]any{"type": "text", "text": text}}
				}
			}
			values = append(values, v)
		}
		all = append(all, values)
	}
	return all
}

// Raw JSON of the caller keeps its bytes (E97), and typed values become what the
// SDK makes of them.
func TestEncodeMessageKeepsRawBytes(t *testing.T) {
	for _, raw := range []string{
		`{"role":"assistant","content":[{"signature":"<\u003c","type":"thinking","thinking":""}],"extra":1}`,
		` {"content" : "x" , "role":"user"} `,
	} {
		m, ok, err := EncodeMessage(rawMessage(raw))
		if err != nil || !ok || string(m.Raw) != raw {
			t.Errorf("%s is encoded as %s (%v, %v)", raw, m.Raw, ok, err)
		}
	}
	typed := anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("<x>"), rawBlock([]byte(`{"type":"hologram", "d":"<"}`)))
	m, _, err := EncodeMessage(typed)
	want, sdkErr := typed.MarshalJSON()
	if err != nil || sdkErr != nil || !wire.Same(m.Raw, want) {
		t.Errorf("message = %s (%v), want %s (%v)", m.Raw, err, want, sdkErr)
	}
}
