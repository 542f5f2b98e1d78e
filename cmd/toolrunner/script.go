package main

import (
	"bytes"
	"encoding/json"
	"io"
)

// script prints events for scripts: each is a JSON object on a line of its own.
// What has gone wrong, people read on err as well.
type script struct {
	out, err io.Writer
	hidden   *secrets
}

func (s script) print(e event) error {
	switch e := e.(type) {
	case warned:
		note(s.err, "note  %s\n", cleanLine(e.Text, longText))
	case runEnded:
		if e.Error != "" {
			note(s.err, "toolrunner run: %s\n", cleanError(e.Error))
		}
	}
	for _, e := range s.hidden.joined(e) {
		if err := s.write(e); err != nil {
			return err
		}
	}
	return nil
}

func (s script) write(e event) error {
	if e.kind() == "" {
		return nil
	}
	line, err := encodeEvent(e)
	if err != nil {
		return err
	}
	_, err = s.out.Write(s.hidden.hideJSON(line))
	return err
}

// encodeEvent returns the event as a line; its type goes first.
func encodeEvent(e event) ([]byte, error) {
	var fields bytes.Buffer
	encoder := json.NewEncoder(&fields)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return nil, err
	}
	line := []byte(`{"type":"` + e.kind() + `"`)
	if rest := fields.Bytes()[1:]; rest[0] == '}' {
		line = append(line, rest...)
	} else {
		line = append(append(line, ','), rest...)
	}
	return cleanJSON(line), nil
}
