package toolrunner

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

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
// nothing, for JSON that is no call.
func (c *Call) UnmarshalJSON(data []byte) error {
	var in callJSON
	if err := schema.DecodeExact(data, &in); err != nil {
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
	if err := schema.DecodeExact(c.Input, v); err != nil {
		return fmt.Errorf("toolrunner: the input of the call %q cannot be decoded: %w", c.ID, err)
	}
	return nil
}
