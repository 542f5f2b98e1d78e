package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Exit codes of every subcommand.
const (
	exitOK          = 0   // it did what it was asked to do
	exitFailed      = 1   // it tried
	exitUsage       = 2   // it could not make sense of its arguments, or lacks something it needs
	exitStopped     = 3   // a run ended before the model was done: at a limit, or its reply was cut off or refused
	exitInterrupted = 130 // the user ended it
)

// told is the exit code of a subcommand that has told the user why it ended.
type told int

func (t told) Error() string { return fmt.Sprintf("exit code %d", int(t)) }

// errUsage is returned by a subcommand that has told the user what is wrong with
// the arguments.
var errUsage error = told(exitUsage)

// terminal is what a subcommand sees of the world.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	env      func(name string) string
}

// command is a subcommand.
type command struct {
	name, summary string
	run           func(ctx context.Context, term *terminal, args []string) error
}

func subcommands() []command {
	return []command{
		{"run", "run an agent with tools of MCP servers and of the SDK, at a terminal or in a script", runRun},
		{"demo", "run a loop with parallel calls and mistakes that are corrected; needs no key", runDemo},
		{"mock", "serve a scripted conversation as a Messages API, for programs in any language", runMock},
	}
}

// run runs the subcommand that args name and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		if len(rest) == 0 {
			usage(stdout)
			return exitOK
		}
		name, rest = rest[0], []string{"-h"}
	}
	for _, c := range subcommands() {
		if c.name == name {
			return exitCode(stderr, c.name, c.run(ctx, &terminal{stdin, stdout, stderr, env}, rest))
		}
	}
	note(stderr, "toolrunner: there is no subcommand %q\n\n", name)
	usage(stderr)
	return exitUsage
}

func usage(w io.Writer) {
	note(w, "Usage: toolrunner <subcommand> [flags]\n\nSubcommands:\n")
	for _, c := range subcommands() {
		note(w, "  %-6s %s\n", c.name, c.summary)
	}
	note(w, "\n\"toolrunner help <subcommand>\" explains its flags.\n")
}

// exitCode reports err, unless the subcommand has, and returns what stands for it.
func exitCode(stderr io.Writer, name string, err error) int {
	if code := told(0); errors.As(err, &code) {
		return int(code)
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, context.Canceled):
		note(stderr, "toolrunner %s: interrupted\n", name)
		return exitInterrupted
	}
	note(stderr, "toolrunner %s: %s\n", name, explainError(err))
	return exitFailed
}

// parse parses the arguments of a subcommand: flags, and in between them at most
// this many operands, which it returns. Asked for help it explains the flags on
// stdout and returns [flag.ErrHelp]. The name of the flags is the synopsis.
func parse(term *terminal, flags *flag.FlagSet, about string, args []string, most int) (operands []string, err error) {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	operands, err = parseMixed(flags, args)
	if err == nil && len(operands) > most {
		err = fmt.Errorf("unexpected argument %q", operands[most])
	}
	if errors.Is(err, flag.ErrHelp) {
		explain(term.out, flags, about)
		return nil, err
	}
	if err != nil {
		name, _, _ := strings.Cut(flags.Name(), " ")
		note(term.err, "toolrunner %s: %v\n\"toolrunner help %[1]s\" explains the flags.\n", name, err)
		return nil, errUsage
	}
	return operands, nil
}

// parseMixed parses flags that may come after operands. What follows "--" is
// operands alone.
func parseMixed(flags *flag.FlagSet, args []string) (operands []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if len(rest) == 0 {
			return operands, nil
		}
		if parsed := len(args) - len(rest); isTerminated(flags, args[:parsed]) {
			return append(operands, rest...), nil
		}
		operands, args = append(operands, rest[0]), rest[1:]
	}
}

// isTerminated reports whether what was parsed ends in "--", and that is not the value
// of a flag.
func isTerminated(flags *flag.FlagSet, parsed []string) bool {
	for i := 0; i < len(parsed); i++ {
		if parsed[i] == "--" {
			return true
		}
		name, _, assigned := strings.Cut(strings.TrimLeft(parsed[i], "-"), "=")
		f := flags.Lookup(name)
		if f == nil || assigned {
			continue
		}
		if yes, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !yes.IsBoolFlag() {
			i++ // its value
		}
	}
	return false
}

func explain(w io.Writer, flags *flag.FlagSet, about string) {
	note(w, "Usage: toolrunner %s [flags]\n\n%s\n\nFlags:\n", flags.Name(), about)
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// note tells the user something. If that fails there is nobody to tell.
func note(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
