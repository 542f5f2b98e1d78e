package wire_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// What Sound returns reads the same for encoding/json, and is left alone the second
// time.
func FuzzSound(f *testing.F) {
	for _, seed := range []string{
		`"\ud83d"`, `"\ud83d\ude00"`, `"\\ud83d"`, `{"\ude00":"\ud83d\n\ude00"}`, "\"a\xffb\\ud800\"", `"\ud83d\ud83d\ude00"`, `["\"\ud83d\"", 1]`, `"\u12`, `"\`, `"\ud83d\u`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			_, _ = wire.Sound(data) // it must not panic: what reads the data next refuses it
			return
		}
		before := string(data)
		sound, changed := wire.Sound(data)
		if string(data) != before {
			t.Fatalf("%q was changed in place to %q", before, data)
		}
		if changed != (string(sound) != before) {
			t.Errorf("%q became %q, and changed = %v", before, sound, changed)
		}
		if !utf8.Valid(sound) || !wire.Same(sound, data) {
			t.Errorf("%q became %q, which reads otherwise", before, sound)
		}
		if _, again := wire.Sound(sound); again {
			t.Errorf("%q became %q, which is not sound either", before, sound)
		}
	})
}
