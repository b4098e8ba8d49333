package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
)

// program is one run of the agent's executable. cobra finds the command and completes command lines for shells. The
// texts of the help and the errors are the agent's own.
type program struct {
	args           []string
	signals        <-chan os.Signal
	stdout, stderr io.Writer

	root   *cobra.Command
	lines  map[*cobra.Command]*commandLine
	status int
}

// execute runs the command that the command line names. It returns the exit code; exitUsage means that the
// command line is faulty.
func (p *program) execute() int {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") // A completion script contains the name of the installed program.
	p.root = &cobra.Command{Use: name, Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true, ValidArgsFunction: cobra.NoFileCompletions}
	p.root.SetOut(p.stdout)
	p.root.SetErr(p.stderr)
	p.lines = map[*cobra.Command]*commandLine{}
	o := defaults()
	p.configureCommand(p.root, o.allFlags(), agentHelp, func(line *commandLine) int { return p.runAgent(&o, line) })
	batch := runCommandDefaults()
	run := &cobra.Command{Use: runName + " " + runArgs, Short: runMeaning}
	p.configureCommand(run, batch.runCommandFlags(), runHelp, func(line *commandLine) int { return p.runPodFiles(&batch, line) })
	p.root.AddCommand(run)
	for _, a := range clientCommands() {
		p.root.AddCommand(p.newClientCommand(&a))
	}
	args := p.cobraArgs()
	p.root.SetArgs(args)
	err := refuseUnknownCompletionShell(args)
	if err == nil {
		err = p.root.Execute()
	}
	if err != nil {
		printErrors(p.stderr, err)
		return exitUsage
	}
	return p.status
}

// configureCommand sets the flags, their completion, the help and the function of a command. The function's
// result becomes the exit code.
func (p *program) configureCommand(c *cobra.Command, flags flagSet, help func() string, run func(*commandLine) int) {
	line := flags.declare(c.Flags())
	p.lines[c] = line
	for i := range flags {
		for _, name := range append([]string{flags[i].name}, flags[i].aliases...) {
			_ = c.RegisterFlagCompletionFunc(name, flags[i].completeValue) // It fails only for unknown and repeated names.
		}
	}
	defaultHelp := (&cobra.Command{}).HelpFunc()
	c.SetHelpFunc(func(asked *cobra.Command, args []string) {
		if asked != c {
			defaultHelp(asked, args) // The help of completion is cobra's.
			return
		}
		fmt.Fprint(p.stdout, help())
	})
	c.Run = func(c *cobra.Command, words []string) {
		line.splitArgs(words, c.ArgsLenAtDash())
		p.status = run(line)
	}
}

// newClientCommand returns the cobra command for a command that queries a running agent. A signal cancels its
// request.
func (p *program) newClientCommand(a *clientCommand) *cobra.Command {
	r := &request{client: client{server: usableUserSocketOrRootSocket(os.Getenv, os.Geteuid())}, query: url.Values{}}
	c := &cobra.Command{Use: strings.TrimSpace(a.name + " " + a.args), Short: a.description, ValidArgsFunction: cobra.NoFileCompletions}
	p.configureCommand(c, r.selectFlags(a.flagNames), a.helpText, func(line *commandLine) int {
		if err := r.applyCommandLine(a, line); err != nil {
			printErrors(p.stderr, err)
			return exitUsage
		}
		ctx, end := context.WithCancel(context.Background())
		defer end()
		go func() {
			select {
			case <-p.signals:
				end()
			case <-ctx.Done():
			}
		}()
		return a.run(ctx, r, p.stdout, p.stderr)
	})
	if a.args != "" {
		c.ValidArgsFunction = func(c *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
			return r.completePod(p.lines[c], words), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return c
}

// completionName is the command of cobra that prints completion scripts.
const completionName = "completion"

// completionTimeout is how long shell completion waits for the agent's list of pods.
const completionTimeout = time.Second

// completePod returns the names of the agent's pods as completions for the first argument. It returns none if
// the command line is faulty or already has an argument. It also returns none if the agent does not answer.
func (r *request) completePod(line *commandLine, words []string) (names []string) {
	if len(words) > 0 {
		return nil
	}
	for i := range line.items {
		if err := line.items[i].setOrReturnFault(); err != nil {
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	if r.forEachPod(ctx, func(pod *v1.Pod) {
		if name := podNameOf(pod); name.namespace == v1.NamespaceDefault {
			names = append(names, name.short)
		} else {
			names = append(names, name.namespace+"/"+name.short)
		}
	}) != nil {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// cobraArgs converts the command line for cobra: "help X" becomes "X --help", "--version" becomes "version",
// and faulty arguments become hidden flags. A command must be the first word, because cobra would also find a
// command after flags.
func (p *program) cobraArgs() []string {
	args := p.args
	switch {
	case len(args) == 0:
		return []string{} // For nil cobra would use the arguments of the process.
	case args[0] == "help":
		for len(args) > 0 && args[0] == "help" { // cobra has its own help for help.
			args = args[1:]
		}
		args = append(slices.Clone(args), "--help")
	case args[0] == "--version": // Most programs have this flag.
		args = append([]string{"version"}, args[1:]...)
	}
	if args[0] == completionName || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args
	}
	for _, c := range p.root.Commands() {
		if c.Name() == args[0] {
			return append([]string{args[0]}, p.lines[c].normalizeArgs(args[1:])...)
		}
	}
	return moveWordsLast(p.lines[p.root].normalizeArgs(args))
}

// shells are the shells for which cobra has completion scripts.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// refuseUnknownCompletionShell returns an error if the command line requests the completion script of an
// unknown shell. Without this check cobra would print help and exit with 0. It returns nil for any other
// command line.
func refuseUnknownCompletionShell(args []string) error {
	if len(args) < 2 || args[0] != completionName || strings.HasPrefix(args[1], "-") || slices.Contains(shells, args[1]) {
		return nil
	}
	return fmt.Errorf("%s has no script for %q; expected one of %s", completionName, args[1], strings.Join(shells, ", "))
}

// moveWordsLast returns the flags first, then "--", and then all other words. Words after a "--" are no flags.
func moveWordsLast(args []string) []string {
	var flags, words []string
	for i, arg := range args {
		if arg == "--" {
			words = append(words, args[i+1:]...)
			break
		}
		if strings.HasPrefix(arg, "-") && arg != "-" {
			flags = append(flags, arg)
		} else {
			words = append(words, arg)
		}
	}
	return slices.Concat(flags, []string{"--"}, words)
}
