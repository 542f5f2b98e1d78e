package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestExitCodeAndUsageFollowTheArguments(t *testing.T) {
	tests := []struct {
		name        string
		args        []string
		code        int
		out, stderr string // what they contain; empty for nothing at all
	}{
		{"nothing", nil, exitUsage, "", "Usage: toolrunner <subcommand>"},
		{"help", []string{"help"}, exitOK, "demo ", ""},
		{"-h", []string{"-h"}, exitOK, "Subcommands:", ""},
		{"an unknown subcommand", []string{"dance"}, exitUsage, "", `there is no subcommand "dance"`},
		{"help of a subcommand", []string{"demo", "-h"}, exitOK, "-live", ""},
		{"an unknown flag", []string{"demo", "-slow"}, exitUsage, "", "-slow"},
		{"an argument too many", []string{"demo", "now"}, exitUsage, "", `unexpected argument "now"`},
		{"a mock without a script", []string{"mock"}, exitUsage, "", "name the file"},
		{"a mock of what is not there", []string{"mock", "nowhere.script"}, exitFailed, "", "nowhere.script"},
		{"help of mock", []string{"mock", "-h"}, exitOK, "-once", ""},
		{"live without a key", []string{"demo", "-live"}, exitUsage, "", "ANTHROPIC_API_KEY"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			if code := run(t.Context(), tt.args, nil, &out, &stderr, noEnv()); code != tt.code {
				t.Errorf("run(%q) = %d, want %d", tt.args, code, tt.code)
			}
			for _, stream := range []struct{ name, got, want string }{{"stdout", out.String(), tt.out}, {"stderr", stderr.String(), tt.stderr}} {
				if !strings.Contains(stream.got, stream.want) || stream.want == "" && stream.got != "" {
					t.Errorf("run(%q) wrote to %s:\n%s\nwant %q", tt.args, stream.name, stream.got, stream.want)
				}
			}
		})
	}
}
