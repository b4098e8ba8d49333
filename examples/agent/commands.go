package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// command is something else that the program can do than run pods: asking an agent
// that does.
type command struct {
	name, args, meaning string
	// run gets what follows the command, and returns the status to end with. Its
	// context ends with the first signal.
	run func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// commands are all there are, in the order of the help.
func commands() []command {
	return []command{
		{"ps", "", "list the pods of a running agent", runPs},
		{"explain", "[NAMESPACE/]NAME", "explain the state of a pod", runExplain},
		{"logs", "[NAMESPACE/]NAME", "its output: [-c CONTAINER] [--follow] [--tail N] [--since 10m] [--previous]", runLogs},
		{"exec", "[NAMESPACE/]NAME", "run a command: [-c CONTAINER] -- COMMAND ... (in an agent with --exec true)", runExec},
	}
}

// commandOf finds the command of a command line, if it has one.
func commandOf(args []string) (command, bool) {
	if len(args) > 0 {
		for _, v := range commands() {
			if v.name == args[0] {
				return v, true
			}
		}
	}
	return command{}, false
}

// usageOfCommands is their part of the help.
func usageOfCommands() string {
	var s strings.Builder
	for _, v := range commands() {
		fmt.Fprintf(&s, "  %-24s  %s\n", strings.TrimSpace(v.name+" "+v.args), v.meaning)
	}
	return s.String()
}

// refused tells of a command line that is not good, and of the flags if they were asked
// for. It returns the status to end with, or false if there is nothing to tell.
func refused(err error, stdout, stderr io.Writer) (status int, bad bool) {
	switch {
	case err == nil:
		return exitOK, false
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage())
		return exitOK, true
	}
	complain(stderr, err)
	return exitUsage, true
}

// ended is the status of a command whose request has ended.
func ended(ctx context.Context, err error, stderr io.Writer) int {
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		complain(stderr, err)
		return exitFailed
	}
	return exitOK
}
