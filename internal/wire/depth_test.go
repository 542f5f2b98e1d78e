package wire

import (
	"strings"
	"testing"
)

// What is in strings is not nested, and what is nested side by side adds up to nothing.
func TestIsTooDeepCountsWhatIsNested(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }
	for name, test := range map[string]struct {
		data string
		want bool
	}{
		"as deep as may be":   {nested(EnterDepth), false},
		"deeper":              {nested(EnterDepth + 2), true},
		"deeper, in a string": {`["` + strings.Repeat("[", 3*EnterDepth) + `\"` + strings.Repeat("{", EnterDepth) + `"]`, false},
		"side by side":        {"[" + strings.Repeat(nested(10)+",", EnterDepth) + "1]", false},
		"after a string":      {`["\\",` + nested(EnterDepth) + `]`, true},
	} {
		if got := IsTooDeep([]byte(test.data), 0); got != test.want {
			t.Errorf("%s: IsTooDeep() = %v, want %v", name, got, test.want)
		}
	}
}
