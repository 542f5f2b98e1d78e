package redact

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// MW3: a secret is hidden wherever an attribute holds it: by its name or by its looks, in
// a group, in an error, in a value that makes its own text, and with a logger made by With
// or WithGroup.
func TestSecretsInAttributesAreHidden(t *testing.T) {
	const plain, looks = "correct-horse", "ghp_0123456789abcdefghij"
	type settings struct{ Password, User string }
	tests := []struct {
		name string
		log  func(*slog.Logger)
	}{
		{"by its name", func(l *slog.Logger) { l.Info("m", slog.String("db_password", plain), slog.String("ok", "stays")) }},
		{"in the message", func(l *slog.Logger) { l.Info("got "+looks, slog.String("ok", "stays")) }},
		{"in a group", func(l *slog.Logger) {
			l.Info("m", slog.Group("db", slog.String("password", plain), slog.Group("in", slog.String("text", looks))), slog.String("ok", "stays"))
		}},
		{"in an error", func(l *slog.Logger) {
			l.Info("m", slog.Any("err", fmt.Errorf("a: %w", errors.New("password="+plain+" "+looks))), slog.String("ok", "stays"))
		}},
		{"in a list", func(l *slog.Logger) { l.Info("m", slog.Any("all", []string{"a", looks}), slog.String("ok", "stays")) }},
		{"in a struct", func(l *slog.Logger) { l.Info("m", slog.Any("all", settings{plain, looks}), slog.String("ok", "stays")) }},
		{"in a value of its own", func(l *slog.Logger) { l.Info("m", slog.Any("v", valuer{looks}), slog.String("ok", "stays")) }},
		{"by the name of any value", func(l *slog.Logger) { l.Info("m", slog.Any("token", []byte(plain)), slog.String("ok", "stays")) }},
		{"With", func(l *slog.Logger) {
			l.With(slog.String("secret", plain), slog.String("text", looks)).Info("m", slog.String("ok", "stays"))
		}},
		{"after With", func(l *slog.Logger) {
			l.With(slog.Int("a", 1)).Info("m", slog.String("text", looks), slog.String("token", plain), slog.String("ok", "stays"))
		}},
		{"after WithGroup", func(l *slog.Logger) {
			l.WithGroup("g").Info("m", slog.String("text", looks), slog.String("token", plain), slog.String("ok", "stays"))
		}},
		{"of a request", func(l *slog.Logger) {
			l.Handler().(*Handler).Known.Add("the-key-of-requests")
			l.With(slog.String("a", "the-key-of-requests")).WithGroup("g").Info("the-key-of-requests", slog.String("b", "the-key-of-requests"), slog.String("ok", "stays"))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, asJSON := range []bool{false, true} {
				var out bytes.Buffer
				var h slog.Handler = slog.NewTextHandler(&out, nil)
				if asJSON {
					h = slog.NewJSONHandler(&out, nil)
				}
				test.log(slog.New(NewHandler(h)))
				for _, secret := range []string{plain, looks, "the-key-of-requests"} {
					if strings.Contains(out.String(), secret) {
						t.Errorf("the record holds %q: %s", secret, out.String())
					}
				}
				if !strings.Contains(out.String(), "stays") {
					t.Errorf("the record lacks what is no secret: %s", out.String())
				}
			}
		})
	}
}

type valuer struct{ text string }

func (v valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("text", v.text)) }
