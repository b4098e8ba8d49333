package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/internal/plain"
)

// action is something else that the program can do than run a directory of pods.
type action struct {
	name, args, meaning string
	// flags are the names of those flags of a request that the command has.
	flags string
	// run gets what follows the command, and returns the status to end with. Its
	// context ends with the first signal.
	run func(ctx context.Context, r *request, stdout, stderr io.Writer) int
	// needs says what is wrong with the words of a request; nil: there may be none.
	needs func(r *request) error
}

// actions are the commands that ask an agent, in the order of the help.
func actions() []action {
	return []action{
		{"ps", "", "list the pods of a running agent", "server output", runPs, nil},
		{"explain", "[NAMESPACE/]NAME", "explain the state of a pod", "server output", runExplain, onePod("explain", "")},
		{"logs", "[NAMESPACE/]NAME", "print what a container of a pod has printed", "server container follow tail since previous raw", runLogs, onePod("logs", " [-c CONTAINER]")},
		{"exec", "[NAMESPACE/]NAME", "run a command: -- COMMAND ... (in an agent with --exec)", "server container raw", runExec, podAndCommand},
		{"version", "", "print the version of the program", "output", runVersion, nil},
	}
}

// runName is the command that runs pods, for which see runFiles.
const runName, runArgs, runMeaning = "run", "FILE ...", "run the pods of files until they have ended; - is standard input"

// commandNames are the names of all commands.
func commandNames() []string {
	names := []string{runName}
	for _, a := range actions() {
		names = append(names, a.name)
	}
	return names
}

// request is what follows the name of a command.
type request struct {
	client
	output    string // "json", or empty
	container string
	query     url.Values // of logs
	raw       bool
	words     []string
	rest      []string // what follows --
}

// flags are the flags of these names.
func (r *request) flags(names string) (chosen flagSet) {
	put := func(name string, check func(string) error) func(string) error {
		return func(s string) error { r.query.Set(name, s); return check(s) }
	}
	all := flagSet{
		{name: "server", value: "ADDR", meaning: "where the agent listens: HOST:PORT or a socket (that of this user's agent)", set: func(s string) error { r.server = s; return nil }},
		cliFlag{name: "output", value: "json", meaning: "for programs", set: oneOf("json", func(s string) { r.output = s })}.as("o"),
		cliFlag{name: "container", value: "NAME", meaning: "the container (the one that kubectl would take)", set: func(s string) error { r.container = s; return nil }}.as("c"),
		cliFlag{name: "follow", meaning: "go on with what comes (false)", set: put("follow", boolean(new(bool)))}.as("f"),
		{name: "tail", value: "N", meaning: "the last lines only (all)", set: put("tail", checkTail)},
		{name: "since", value: "TIME", meaning: "what is newer than a duration, such as 10m, or than a time", set: put("since", checkSince)},
		cliFlag{name: "previous", meaning: "of the container before the last restart (false)", set: put("previous", boolean(new(bool)))}.as("p"),
		{name: "raw", meaning: "do not escape control characters on a terminal (false)", set: boolean(&r.raw)},
	}
	for name := range strings.FieldsSeq(names) {
		chosen = append(chosen, *all.find(name))
	}
	return chosen
}

// read sets what a command line says.
func (r *request) read(a *action, line *commandLine) error {
	var faults []error
	for i := range line.items {
		faults = append(faults, line.items[i].apply())
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.words, r.rest = line.words, line.rest
	if a.needs != nil {
		return a.needs(r)
	}
	if words := slices.Concat(r.words, r.rest); len(words) > 0 {
		return fmt.Errorf("%s takes no %q (agent %s --help)", a.name, words[0], a.name)
	}
	return nil
}

// onePod wants the name of one pod.
func onePod(name, more string) func(*request) error {
	return func(r *request) error {
		if len(r.words) != 1 || len(r.rest) > 0 {
			return fmt.Errorf("%s needs the name of one pod: %s [NAMESPACE/]NAME%s (agent ps lists all)", name, name, more)
		}
		return nil
	}
}

// help is what a command tells of itself.
func (a *action) help() string {
	return "Usage: agent " + strings.TrimSpace(a.name+" "+a.args) + " [flags]\n\n" +
		strings.ToUpper(a.meaning[:1]) + a.meaning[1:] + ".\n\nFlags, with their defaults in parentheses:\n\n" + new(request).flags(a.flags).help()
}

// usageOfCommands is their part of the help.
func usageOfCommands() string {
	var s strings.Builder
	for _, a := range slices.Concat([]action{{name: runName, args: runArgs, meaning: runMeaning}}, actions(),
		[]action{{name: completionName, args: "SHELL", meaning: "print a completion script: " + strings.Join(shells, ", ")}}) {
		fmt.Fprintf(&s, "  %-24s  %s\n", strings.TrimSpace(a.name+" "+a.args), a.meaning)
	}
	return s.String()
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

// readable is where the output of a container goes: as it is, to a file or another program,
// and without what a terminal would obey, to a terminal.
func (r *request) readable(stdout io.Writer) io.Writer {
	if _, is := stdout.(terminal); is && !r.raw {
		return command.Visible(stdout)
	}
	return stdout
}

// complain says each of several joined errors on a line of its own.
func complain(w io.Writer, err error) {
	for line := range strings.SplitSeq(plain.Text(err.Error()), "\n") {
		fmt.Fprintf(w, "agent: %s\n", plain.Visible(line))
	}
}

// complainAtEnd is complain for a process that ends, also if nothing reads standard error.
func complainAtEnd(w io.Writer, err error) {
	b := command.NewBuffered(w, func(io.Writer, int) {})
	complain(b, err)
	b.Flush(lastLines)
}
