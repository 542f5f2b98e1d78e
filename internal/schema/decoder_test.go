package schema

import (
	"encoding/json"
	"reflect"
)

// Open decodes input as a tool with a schema of somebody else does.
func Open(t reflect.Type) func(input json.RawMessage, into any) error {
	d := OpenDecoder(t)
	return func(input json.RawMessage, into any) error { return d.Decode(input, nil, into) }
}

// Check is Read for those who only want to know.
func (s *Input) Check(input json.RawMessage) error {
	_, err := s.Read(input)
	return err
}

func (s *Input) Decode(input json.RawMessage, into any) error {
	return s.Decoder().Decode(input, nil, into)
}

func (s *Input) DecodeUnchecked(input json.RawMessage, into any) error {
	return s.Decoder().Unchecked().Decode(input, nil, into)
}
