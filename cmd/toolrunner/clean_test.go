package main

import "testing"

func TestCleanLeavesNothingToObey(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"text", "Grüße, 世界 👩‍🚀\n\tand more", "Grüße, 世界 👩‍🚀\n\tand more"},
		{"escape sequences", "\x1b[31mred\x1b]0;title\a\x9b", "␛[31mred␛]0;title␇\ufffd"},
		{"C1 controls", "\u0085\u009b31m", "\ufffd\ufffd31m"},
		{"a carriage return that hides", "rm -rf\rls", "rm -rf␍ls"},
		{"line ends of Windows", "a\r\nb", "a\nb"},
		{"backspace and delete", "a\bb\x7f", "a␈b␡"},
		{"direction", "\u202egnp.exe\u2066\u061c", "\ufffdgnp.exe\ufffd\ufffd"},
		{"line separators", "a\u2028b\u2029", "a\ufffdb\ufffd"},
		{"what is not seen", "a\u200b\ufeff\u00ad\U000e0041", "a\ufffd\ufffd\ufffd\ufffd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := clean(tt.text); got != tt.want {
				t.Errorf("clean(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[2J\u009b\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range clean(text) {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || obeyed(r) {
				t.Errorf("clean(%q) holds %U", text, r)
			}
		}
	})
}
