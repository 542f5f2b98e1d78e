package toolrunner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/toolrunner/toolrunner/internal/schema"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// callJSON is a Call as JSON.
type callJSON struct {
	ID             string          `json:"id"`
	Name           string          `json:"name"`
	Input          json.RawMessage `json:"input"`              // that runs
	Original       json.RawMessage `json:"original,omitempty"` // as the model wrote it, if Input is another
	Iteration      int             `json:"iteration"`
	ReadOnly       bool            `json:"read_only,omitempty"`
	ConversationID string          `json:"conversation_id,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
}

// MarshalJSON encodes the call for a queue, a page or another process: its id and name,
// the input that will run and the one that the model wrote, and its idempotency key.
// [Call.UnmarshalJSON] brings it back, so that [Decision.For] and
// [Call.IdempotencyKey] mean the same call.
func (c Call) MarshalJSON() ([]byte, error) {
	out := callJSON{
		ID: c.ID, Name: c.Name, Input: c.Input, Iteration: c.Iteration, ReadOnly: c.ReadOnly,
		ConversationID: c.ConversationID, IdempotencyKey: c.IdempotencyKey(),
	}
	if written := c.written(); string(written) != string(c.Input) {
		out.Original = written
	}
	return json.Marshal(out)
}

// UnmarshalJSON decodes what MarshalJSON has encoded. It returns an error, and changes
// nothing, for JSON that is no call or has other members.
func (c *Call) UnmarshalJSON(data []byte) error {
	var in callJSON
	if err := decodeExactly(data, &in); err != nil {
		return fmt.Errorf("toolrunner: it is no call: %w", err)
	}
	if in.ID == "" || in.Name == "" || len(in.Input) == 0 {
		return errors.New("toolrunner: it is no call: it needs an id, a name and an input")
	}
	call := Call{
		ID: in.ID, Name: in.Name, Input: in.Input, Iteration: in.Iteration, ReadOnly: in.ReadOnly,
		ConversationID: in.ConversationID, original: in.Original, key: in.IdempotencyKey,
	}
	block := append([]byte(`{"type":"tool_use","id":`), wire.AppendString(nil, in.ID)...)
	block = append(append(block, `,"name":`...), wire.AppendString(nil, in.Name)...)
	block = append(append(append(block, `,"input":`...), call.written()...), '}')
	if err := call.Block.UnmarshalJSON(block); err != nil {
		return fmt.Errorf("toolrunner: it is no call: %w", err)
	}
	*c = call
	return nil
}

// decodeExactly decodes an object into a struct whose fields have exactly its keys.
func decodeExactly(data []byte, into any) error {
	if err := refuseDoubledKeys(data); err != nil {
		return err
	}
	fields := make(map[string]bool)
	for t, i := reflect.TypeOf(into).Elem(), 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = true
	}
	err := wire.Members(data, func(key, _ []byte) error {
		if !fields[string(key)] {
			return fmt.Errorf("it has the member %q", key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Decode decodes the input that will run into what v points to, for approvers and
// others that decide by it. Unlike encoding/json, it takes a key for a field only if it
// has exactly that name, and refuses an object, at any depth, that has a key twice:
// otherwise what is decided on and what runs could differ. Keys without a field are
// left out.
func (c *Call) Decode(v any) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || reflect.ValueOf(v).IsNil() {
		return fmt.Errorf("toolrunner: Call.Decode needs a pointer to decode into, not %T", v)
	}
	if err := refuseDoubledKeys(c.Input); err != nil {
		return fmt.Errorf("toolrunner: the input of the call %q cannot be decoded: %w", c.ID, err)
	}
	if err := schema.OpenDecoder(t.Elem()).Unchecked().Decode(c.Input, nil, v); err != nil {
		return fmt.Errorf("toolrunner: the input of the call %q cannot be decoded: %w", c.ID, err)
	}
	return nil
}

// refuseDoubledKeys returns an error if an object in data has a key twice. It reads the
// text once, however deep it is.
func refuseDoubledKeys(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var open []map[string]bool // of the objects around; nil for an array
	key := false               // the next string is a key
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				open, key = append(open, make(map[string]bool)), true
				continue
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
		case string:
			if key {
				keys := open[len(open)-1]
				if keys[token] {
					return fmt.Errorf("an object in it has the key %q twice", token)
				}
				keys[token], key = true, false
				continue
			}
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}
