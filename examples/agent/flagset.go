package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/podkeel/podkeel/examples/internal/command"
)

// cliFlag is a flag as people read of it.
type cliFlag struct {
	name  string
	value string // what follows it; empty for a boolean, which stands for itself
	// meaning is a sentence with the default in parentheses.
	meaning string
	set     func(string) error
	// also are other names of the flag, the kubelet's for the most part.
	also []string
}

// as is the flag with other names.
func (f cliFlag) as(names ...string) cliFlag {
	f.also = names
	return f
}

// dashed is a name as people write it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// names are all names of the flag, with dashes.
func (f *cliFlag) names() []string {
	names := []string{dashed(f.name)}
	for _, other := range f.also {
		names = append(names, dashed(other))
	}
	return names
}

// flagSet are the flags of the agent, or of a command.
type flagSet []cliFlag

// find finds a flag by any of its names.
func (s flagSet) find(name string) *cliFlag {
	for i := range s {
		if s[i].name == name || slices.Contains(s[i].also, name) {
			return &s[i]
		}
	}
	return nil
}

// commandLine is a command line that pflag reads. Its flags are set later, because those of a
// configuration file are set before them, and because each fault of the line is reported.
type commandLine struct {
	known flagSet
	pflag *pflag.FlagSet
	items []item
	words []string // before --
	rest  []string // after --
}

// item is one use of a flag, or a fault.
type item struct {
	flag  *cliFlag
	given string // the name under which the flag was given, with dashes
	value string
	fault error
}

// flagValue is the pflag.Value that adds a use of a flag to the command line.
type flagValue struct {
	line *commandLine
	item item
}

// Set implements pflag.Value.
func (v flagValue) Set(value string) error {
	v.item.value = value
	v.line.items = append(v.line.items, v.item)
	return nil
}

// String implements pflag.Value. The help has the defaults in its sentences.
func (v flagValue) String() string { return "" }

// Type implements pflag.Value.
func (v flagValue) Type() string {
	if v.item.flag != nil && v.item.flag.value == "" {
		return "bool"
	}
	return "string"
}

// bind declares the flags in a set of pflag. Each other name is a hidden flag, so that an error can
// name the one that was given.
func (s flagSet) bind(flags *pflag.FlagSet) *commandLine {
	l := &commandLine{known: s, pflag: flags}
	flags.SortFlags = false
	for i := range s {
		f := &s[i]
		for j, name := range append([]string{f.name}, f.also...) {
			p := &pflag.Flag{Name: name, Usage: f.meaning, Hidden: j > 0, Value: flagValue{l, item{flag: f, given: dashed(name)}}}
			if f.value == "" {
				p.NoOptDefVal = "true"
			}
			if len(name) == 1 {
				p.Shorthand = name
			}
			flags.AddFlag(p)
		}
	}
	return l
}

// parse reads a command line without a command.
func (s flagSet) parse(args []string) (*commandLine, error) {
	l := s.bind(pflag.NewFlagSet("agent", pflag.ContinueOnError))
	err := l.pflag.Parse(l.arguments(args))
	l.split(l.pflag.Args(), l.pflag.ArgsLenAtDash())
	return l, err
}

// split keeps the words before -- and after it. dash is the number of words before it, or -1.
func (l *commandLine) split(words []string, dash int) {
	if dash < 0 {
		dash = len(words)
	}
	l.words, l.rest = words[:dash], words[dash:]
}

// arguments are a command line as pflag reads it. An argument with a fault becomes a flag that records
// the fault, so that all faults are reported in their order.
func (l *commandLine) arguments(args []string) []string {
	faults := 0
	return command.Arguments(l.pflag, args, func(arg string, fault error) string {
		name := "fault-" + strconv.Itoa(faults)
		faults++
		l.pflag.AddFlag(&pflag.Flag{Name: name, Hidden: true, Value: flagValue{l, item{fault: l.known.describe(arg, fault)}}})
		return "--" + name + "="
	})
}

// describe is the sentence for a fault of an argument. It names the flag that was probably meant.
func (s flagSet) describe(arg string, fault error) error {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	switch fault {
	case command.ErrBadFlag:
		return fmt.Errorf("bad flag %q (--help lists the flags)", arg)
	case command.ErrNoValue:
		return fmt.Errorf("flag needs an argument: %s (--help lists the flags)", dashed(name))
	}
	if name == "it" || name == "ti" {
		return fmt.Errorf("unknown flag -%s: commands of the agent have no input and no terminal; kubectl exec has, with --write-kubeconfig", name)
	}
	var known []string
	for i := range s {
		for _, n := range append([]string{s[i].name}, s[i].also...) {
			if len(n) > 1 {
				known = append(known, n)
			}
		}
	}
	if meant := command.Meant(name, known); meant != "" {
		return fmt.Errorf("unknown flag %s; did you mean %s? (--help lists the flags)", dashed(name), dashed(meant))
	}
	return fmt.Errorf("unknown flag %s (--help lists the flags)", dashed(name))
}

// apply sets the flag. Its error has the flag and its value.
func (i *item) apply() error {
	if i.fault != nil {
		return i.fault
	}
	if err := i.flag.set(i.value); err != nil {
		return fmt.Errorf("%s %q: %w", i.given, i.value, err)
	}
	return nil
}

// complete returns what a shell offers as the value of the flag.
func (f *cliFlag) complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	switch f.value {
	case "PATH", "FILE", "SOCKET", "ADDR":
		return nil, cobra.ShellCompDirectiveDefault
	case "DIR":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case "LEVEL":
		return strings.Fields(logLevels), cobra.ShellCompDirectiveNoFileComp
	}
	if f.value != "" && strings.ToLower(f.value) == f.value { // Words, and no name of what is expected.
		return strings.Split(f.value, "|"), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// help lists the flags, each with its other names below its meaning.
func (s flagSet) help() string {
	var b strings.Builder
	for i := range s {
		f := &s[i]
		fmt.Fprintf(&b, "  %-23s  %s\n", strings.TrimSpace(dashed(f.name)+" "+f.value), f.meaning)
		if len(f.also) > 0 {
			fmt.Fprintf(&b, "  %-23s  also %s\n", "", strings.Join(f.names()[1:], ", "))
		}
	}
	return b.String()
}

// boolean sets a switch.
func boolean(to *bool) func(string) error {
	return func(s string) error {
		switch s {
		case "true", "false":
			*to = s == "true"
			return nil
		}
		return errors.New("expected true or false")
	}
}
