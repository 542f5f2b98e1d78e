package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Exit codes of every subcommand.
const (
	exitOK     = 0 // it did what it was asked to do
	exitFailed = 1 // it tried
	exitUsage  = 2 // it could not make sense of its arguments, or lacks something it needs
)

// errUsage is returned by a subcommand that has told the user what is wrong with
// the arguments.
var errUsage = errors.New("usage")

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

func commands() []command {
	return []command{
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
	if name := args[0]; name == "help" || name == "-h" || name == "-help" || name == "--help" {
		usage(stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return exitCode(stderr, c.name, c.run(ctx, &terminal{stdin, stdout, stderr, env}, args[1:]))
		}
	}
	note(stderr, "toolrunner: there is no subcommand %q\n\n", args[0])
	usage(stderr)
	return exitUsage
}

func usage(w io.Writer) {
	note(w, "Usage: toolrunner <subcommand> [flags]\n\nSubcommands:\n")
	for _, c := range commands() {
		note(w, "  %-6s %s\n", c.name, c.summary)
	}
	note(w, "\nEach subcommand explains its flags with -h.\n")
}

// exitCode reports err, unless the subcommand has, and returns what stands for it.
func exitCode(stderr io.Writer, name string, err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		note(stderr, "toolrunner %s: interrupted\n", name)
	default:
		note(stderr, "toolrunner %s: %v\n", name, err)
	}
	return exitFailed
}

// parse parses the flags of a subcommand that takes no further arguments. Asked
// for help it explains them on stdout and returns [flag.ErrHelp].
func parse(term *terminal, flags *flag.FlagSet, about string, args []string) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	explain := func(w io.Writer) {
		note(w, "Usage: toolrunner %s [flags]\n\n%s\n\nFlags:\n", flags.Name(), about)
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		explain(term.out)
		return err
	}
	note(term.err, "toolrunner %s: %v\n\n", flags.Name(), err)
	explain(term.err)
	return errUsage
}

// note tells the user something. If that fails there is nobody to tell.
func note(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
