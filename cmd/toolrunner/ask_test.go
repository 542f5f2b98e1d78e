package main

import (
	"encoding/json"
	"testing"
)

func TestQuestionShowsAllOfTheInput(t *testing.T) {
	tests := []struct{ name, input, want string }{
		{"members in their order", `{"b":"text","a":[1, 2.50]}`, "  b: text\n  a: [1,2.50]\n"},
		{"a text of several lines", `{"a":"one\n  b: two"}`, "  a:\n  | one\n  |   b: two\n"},
		{"a key that plays a line", `{"a\n  b":"x"}`, "  a b: x\n"},
		{"controls", `{"a":"\u001b[2J\rx"}`, "  a: ␛[2J␍x\n"},
		{"nothing", `{}`, ""},
		{"no object", `[1, "\n"]`, `  [1,"\n"]` + "\n"},
		{"no JSON", `{"a":`, `  {"a":` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := showInput(json.RawMessage(tt.input)); got != tt.want {
				t.Errorf("showInput(%s) = %q, want %q", tt.input, got, tt.want)
			}
		})
	}
}
