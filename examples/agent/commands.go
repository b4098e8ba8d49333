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

// clientCommand is a command that queries a running agent.
type clientCommand struct {
	name, args, description string
	// flagNames are the names of the flags that the command has.
	flagNames string
	// runUntilStopped executes the command and returns the exit code. Its context is canceled by the first signal.
	run func(ctx context.Context, r *request, stdout, stderr io.Writer) int
	// checkArgs checks the arguments of the request; nil means that there must be none.
	checkArgs func(r *request) error
}

// clientCommands returns the commands that query an agent, in the order of the help.
func clientCommands() []clientCommand {
	return []clientCommand{
		{"ps", "", "list the pods of a running agent", "server output", runPs, nil},
		{"explain", "[NAMESPACE/]NAME", "explain the state of a pod", "server output", runExplain, requireOnePod("explain", "")},
		{"logs", "[NAMESPACE/]NAME", "print the log of a container of a pod", "server container follow tail since previous raw", runLogs, requireOnePod("logs", " [-c CONTAINER]")},
		{"exec", "[NAMESPACE/]NAME", "run a command: -- COMMAND ... (in an agent with --exec)", "server container raw", runExec, requirePodAndCommand},
		{"version", "", "print the version of the program", "output", runVersion, nil},
	}
}

// runName is the command that runs the pods of files: see runPodFiles.
const runName, runArgs, runMeaning = "run", "FILE ...", "run the pods of files until they terminate; - is standard input"

// commandNames returns the names of the commands: run, and those that query an agent.
func commandNames() []string {
	names := []string{runName}
	for _, a := range clientCommands() {
		names = append(names, a.name)
	}
	return names
}

// request holds the flags and arguments of a client command.
type request struct {
	client
	output        string // "json", or empty
	container     string
	query         url.Values // of logs
	raw           bool
	args          []string
	argsAfterDash []string // arguments after --
}

// selectFlags returns the flags with the given names, which are separated by spaces. Setting such a flag
// changes r.
func (r *request) selectFlags(names string) (chosen flagSet) {
	put := func(name string, check func(string) error) func(string) error {
		return func(s string) error { r.query.Set(name, s); return check(s) }
	}
	all := flagSet{
		{name: "server", value: "ADDR", description: "address of the agent: HOST:PORT or a socket (the socket of this user's agent)", set: func(s string) error { r.server = s; return nil }},
		cliFlag{name: "output", value: "json", description: "print JSON, for programs", set: oneOfFlag("json", func(s string) { r.output = s })}.withAliases("o"),
		cliFlag{name: "container", value: "NAME", description: "the container (the same default as kubectl)", set: func(s string) error { r.container = s; return nil }}.withAliases("c"),
		cliFlag{name: "follow", description: "wait for new output (false)", set: put("follow", boolFlag(new(bool)))}.withAliases("f"),
		{name: "tail", value: "N", description: "print only the last N lines (all)", set: put("tail", checkTail)},
		{name: "since", value: "TIME", description: "print only lines newer than a duration, such as 10m, or a time", set: put("since", checkSince)},
		cliFlag{name: "previous", description: "print the log of the container before its last restart (false)", set: put("previous", boolFlag(new(bool)))}.withAliases("p"),
		{name: "raw", description: "do not escape control characters on a terminal (false)", set: boolFlag(&r.raw)},
	}
	for name := range strings.FieldsSeq(names) {
		chosen = append(chosen, *all.flagWithNameOrAlias(name))
	}
	return chosen
}

// applyCommandLine sets the fields of r from the flags and arguments of a command line. It returns an error if
// a flag or an argument is faulty.
func (r *request) applyCommandLine(a *clientCommand, line *commandLine) error {
	var faults []error
	for i := range line.items {
		faults = append(faults, line.items[i].setOrReturnFault())
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.args, r.argsAfterDash = line.args, line.argsAfterDash
	if a.checkArgs != nil {
		return a.checkArgs(r)
	}
	if words := slices.Concat(r.args, r.argsAfterDash); len(words) > 0 {
		return fmt.Errorf("%s takes no %q (agent %s --help)", a.name, words[0], a.name)
	}
	return nil
}

// requireOnePod returns a check for a command's arguments. The check returns an error unless they are exactly
// one name of a pod.
func requireOnePod(commandName, argsUsage string) func(*request) error {
	return func(r *request) error {
		if len(r.args) != 1 || len(r.argsAfterDash) > 0 {
			return fmt.Errorf("%s needs the name of one pod: %s [NAMESPACE/]NAME%s (agent ps lists all)", commandName, commandName, argsUsage)
		}
		return nil
	}
}

// helpText returns the help of the command with its flags.
func (a *clientCommand) helpText() string {
	return "Usage: agent " + strings.TrimSpace(a.name+" "+a.args) + " [flags]\n\n" +
		strings.ToUpper(a.description[:1]) + a.description[1:] + ".\n\nFlags, with their defaults in parentheses:\n\n" + new(request).selectFlags(a.flagNames).helpText()
}

// commandsHelp returns the part of the help that lists the commands.
func commandsHelp() string {
	var s strings.Builder
	for _, a := range slices.Concat([]clientCommand{{name: runName, args: runArgs, description: runMeaning}}, clientCommands(),
		[]clientCommand{{name: completionName, args: "SHELL", description: "print a completion script: " + strings.Join(shells, ", ")}}) {
		fmt.Fprintf(&s, "  %-24s  %s\n", strings.TrimSpace(a.name+" "+a.args), a.description)
	}
	return s.String()
}

// printRequestError prints err if it is not nil, and returns the exit code. If ctx is done, it prints nothing
// and returns exitInterrupted.
func printRequestError(ctx context.Context, err error, stderr io.Writer) int {
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		printErrors(stderr, err)
		return exitFailed
	}
	return exitOK
}

// terminalSafeWriter returns a writer to stdout for the output of a container. The writer escapes control
// characters if stdout is a terminal and the flag --raw is not set.
func (r *request) terminalSafeWriter(stdout io.Writer) io.Writer {
	if _, is := stdout.(terminal); is && !r.raw {
		return command.Visible(stdout)
	}
	return stdout
}

// printErrors prints each line of an error on its own line, with the prefix "agent: " and escaped control
// characters.
func printErrors(w io.Writer, err error) {
	for line := range strings.SplitSeq(plain.Text(err.Error()), "\n") {
		fmt.Fprintf(w, "agent: %s\n", plain.Visible(line))
	}
}

// printErrorsWithTimeLimit prints like printErrors, but returns after outputFlushTimeout even if no process
// reads the output.
func printErrorsWithTimeLimit(w io.Writer, err error) {
	b := command.NewBuffered(w, func(io.Writer, int) {})
	printErrors(b, err)
	b.Flush(outputFlushTimeout)
}
