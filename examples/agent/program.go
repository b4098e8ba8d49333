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

// program is one call of the agent. cobra finds the command and completes command lines for shells.
// The sentences of help and errors are the agent's own.
type program struct {
	args           []string
	signals        <-chan os.Signal
	stdout, stderr io.Writer

	root   *cobra.Command
	lines  map[*cobra.Command]*commandLine
	status int
}

// execute runs the command of the command line, and returns the status to end with.
func (p *program) execute() int {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") // A completion script is for the installed name.
	p.root = &cobra.Command{Use: name, Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true, ValidArgsFunction: cobra.NoFileCompletions}
	p.root.SetOut(p.stdout)
	p.root.SetErr(p.stderr)
	p.lines = map[*cobra.Command]*commandLine{}
	o := defaults()
	p.define(p.root, o.cliFlags(), usage, func(line *commandLine) int { return p.runAgent(&o, line) })
	batch := runDefaults()
	run := &cobra.Command{Use: runName + " " + runArgs, Short: runMeaning}
	p.define(run, batch.runFlags(), runUsage, func(line *commandLine) int { return p.runFiles(&batch, line) })
	p.root.AddCommand(run)
	for _, a := range actions() {
		p.root.AddCommand(p.command(&a))
	}
	args := p.arguments()
	p.root.SetArgs(args)
	err := checkShell(args)
	if err == nil {
		err = p.root.Execute()
	}
	if err != nil {
		complain(p.stderr, err)
		return exitUsage
	}
	return p.status
}

// define gives a command its flags, its help, and what it does.
func (p *program) define(c *cobra.Command, flags flagSet, help func() string, run func(*commandLine) int) {
	line := flags.bind(c.Flags())
	p.lines[c] = line
	for i := range flags {
		for _, name := range append([]string{flags[i].name}, flags[i].also...) {
			_ = c.RegisterFlagCompletionFunc(name, flags[i].complete) // It fails for unknown and repeated names only.
		}
	}
	defaultHelp := (&cobra.Command{}).HelpFunc()
	c.SetHelpFunc(func(asked *cobra.Command, args []string) {
		if asked != c {
			defaultHelp(asked, args) // That of completion, which is cobra's.
			return
		}
		fmt.Fprint(p.stdout, help())
	})
	c.Run = func(c *cobra.Command, words []string) {
		line.split(words, c.ArgsLenAtDash())
		p.status = run(line)
	}
}

// command is one that asks an agent.
func (p *program) command(a *action) *cobra.Command {
	r := &request{client: client{server: findSocket(os.Getenv, os.Geteuid())}, query: url.Values{}}
	c := &cobra.Command{Use: strings.TrimSpace(a.name + " " + a.args), Short: a.meaning, ValidArgsFunction: cobra.NoFileCompletions}
	p.define(c, r.flags(a.flags), a.help, func(line *commandLine) int {
		if err := r.read(a, line); err != nil {
			complain(p.stderr, err)
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

// completionTimeout is how long a shell waits for the agent that it completes the name of a pod from.
const completionTimeout = time.Second

// completePod returns the names of the agent's pods, for the first word of a command. There are none if
// the agent does not answer.
func (r *request) completePod(line *commandLine, words []string) (names []string) {
	if len(words) > 0 {
		return nil
	}
	for i := range line.items {
		if err := line.items[i].apply(); err != nil {
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	if r.pods(ctx, func(pod *v1.Pod) {
		if name := nameOf(pod); name.namespace == v1.NamespaceDefault {
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

// arguments are the command line as cobra reads it. A command is the first word: cobra would also find
// one behind flags, which are the agent's then.
func (p *program) arguments() []string {
	args := p.args
	switch {
	case len(args) == 0:
		return []string{} // Of nil, cobra takes the arguments of the process.
	case args[0] == "help":
		for len(args) > 0 && args[0] == "help" { // cobra has a help of its own for help.
			args = args[1:]
		}
		args = append(slices.Clone(args), "--help")
	case args[0] == "--version": // As most programs have it.
		args = append([]string{"version"}, args[1:]...)
	}
	if args[0] == completionName || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args
	}
	for _, c := range p.root.Commands() {
		if c.Name() == args[0] {
			return append([]string{args[0]}, p.lines[c].arguments(args[1:])...)
		}
	}
	return wordsLast(p.lines[p.root].arguments(args))
}

// shells are those that cobra has completion scripts for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// checkShell returns an error if a completion script is asked for that does not exist. cobra prints the
// help of completion then, with status 0.
func checkShell(args []string) error {
	if len(args) < 2 || args[0] != completionName || strings.HasPrefix(args[1], "-") || slices.Contains(shells, args[1]) {
		return nil
	}
	return fmt.Errorf("%s has no script for %q; expected one of %s", completionName, args[1], strings.Join(shells, ", "))
}

// wordsLast puts the words behind the flags and --.
func wordsLast(args []string) []string {
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
