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

// cliFlag is a flag of the agent or of a command.
type cliFlag struct {
	name  string
	value string // placeholder of the value; empty for a boolean flag
	// description is a sentence with the default in parentheses.
	description string
	set         func(string) error
	// aliases are other names of the flag, mostly the kubelet's.
	aliases []string
}

// withAliases returns a copy of the flag with these aliases.
func (f cliFlag) withAliases(names ...string) cliFlag {
	f.aliases = names
	return f
}

// dashedName returns a flag's name with dashes: one dash for a name of one letter, two for a longer name.
func dashedName(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// dashedNames returns all names of the flag, with dashes.
func (f *cliFlag) dashedNames() []string {
	names := []string{dashedName(f.name)}
	for _, other := range f.aliases {
		names = append(names, dashedName(other))
	}
	return names
}

// flagSet is the list of flags of the agent, or of a command.
type flagSet []cliFlag

// flagWithNameOrAlias returns the flag that has the given name or alias. It returns nil if there is none.
func (s flagSet) flagWithNameOrAlias(name string) *cliFlag {
	for i := range s {
		if s[i].name == name || slices.Contains(s[i].aliases, name) {
			return &s[i]
		}
	}
	return nil
}

// commandLine collects the flags of a command line that pflag parses. They are set later, because the flags of a
// configuration file are set before them, and because every fault of the command line is reported.
type commandLine struct {
	known         flagSet
	pflag         *pflag.FlagSet
	items         []flagUse
	args          []string // before --
	argsAfterDash []string // after --
}

// flagUse is one use of a flag, or a fault.
type flagUse struct {
	flag     *cliFlag
	usedName string // the name that was used, with dashes
	value    string
	fault    error
}

// flagValue is the pflag.Value that adds the use of a flag to the command line.
type flagValue struct {
	line *commandLine
	item flagUse
}

// Set implements pflag.Value. It only appends the flag and its value to the command line; setOrReturnFault sets the
// option later.
func (v flagValue) Set(value string) error {
	v.item.value = value
	v.line.items = append(v.line.items, v.item)
	return nil
}

// String implements pflag.Value. It is empty because the descriptions contain the defaults.
func (v flagValue) String() string { return "" }

// Type implements pflag.Value.
func (v flagValue) Type() string {
	if v.item.flag != nil && v.item.flag.value == "" {
		return "bool"
	}
	return "string"
}

// declare adds the flags to a flag set of pflag, and returns the command line that will record their uses. Each
// alias is a hidden flag, so that an error can show the name that was used.
func (s flagSet) declare(flags *pflag.FlagSet) *commandLine {
	l := &commandLine{known: s, pflag: flags}
	flags.SortFlags = false
	for i := range s {
		f := &s[i]
		for j, name := range append([]string{f.name}, f.aliases...) {
			p := &pflag.Flag{Name: name, Usage: f.description, Hidden: j > 0, Value: flagValue{l, flagUse{flag: f, usedName: dashedName(name)}}}
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

// parseWithoutSettingOptions parses a command line without a command name. It sets no options; the caller
// applies the result.
func (s flagSet) parseWithoutSettingOptions(args []string) (*commandLine, error) {
	l := s.declare(pflag.NewFlagSet("agent", pflag.ContinueOnError))
	err := l.pflag.Parse(l.normalizeArgs(args))
	l.splitArgs(l.pflag.Args(), l.pflag.ArgsLenAtDash())
	return l, err
}

// splitArgs stores the arguments before and after "--". dash is the number of arguments before "--", or -1 if
// the command line has no "--".
func (l *commandLine) splitArgs(words []string, dash int) {
	if dash < 0 {
		dash = len(words)
	}
	l.args, l.argsAfterDash = words[:dash], words[dash:]
}

// normalizeArgs converts a command line to arguments that pflag accepts. It replaces a faulty argument by a new
// hidden flag that stores the fault, so that all faults are reported in their order.
func (l *commandLine) normalizeArgs(args []string) []string {
	faults := 0
	return command.NormalizeArguments(l.pflag, args, func(arg string, fault error) string {
		name := "fault-" + strconv.Itoa(faults)
		faults++
		l.pflag.AddFlag(&pflag.Flag{Name: name, Hidden: true, Value: flagValue{l, flagUse{fault: l.known.newArgumentErrorForFault(arg, fault)}}})
		return "--" + name + "="
	})
}

// newArgumentErrorForFault returns a new error text for a faulty argument. If fault is ErrBadFlag or
// ErrNoValue, the text says so. Any other fault counts as an unknown flag, and the text suggests a flag with a
// similar name, if the set has one. The error does not wrap fault.
func (s flagSet) newArgumentErrorForFault(arg string, fault error) error {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	switch fault {
	case command.ErrBadFlag:
		return fmt.Errorf("bad flag %q (--help lists the flags)", arg)
	case command.ErrNoValue:
		return fmt.Errorf("flag needs an argument: %s (--help lists the flags)", dashedName(name))
	}
	if name == "it" || name == "ti" {
		return fmt.Errorf("unknown flag -%s: commands of the agent have no input and no terminal; kubectl exec has, with --write-kubeconfig", name)
	}
	var known []string
	for i := range s {
		for _, n := range append([]string{s[i].name}, s[i].aliases...) {
			if len(n) > 1 {
				known = append(known, n)
			}
		}
	}
	if meant := command.NearestWord(name, known); meant != "" {
		return fmt.Errorf("unknown flag %s; did you mean %s? (--help lists the flags)", dashedName(name), dashedName(meant))
	}
	return fmt.Errorf("unknown flag %s (--help lists the flags)", dashedName(name))
}

// setOrReturnFault sets the option of the flag to the value on the command line. Its error names the flag and
// the value. For a faulty argument it returns the stored fault.
func (i *flagUse) setOrReturnFault() error {
	if i.fault != nil {
		return i.fault
	}
	if err := i.flag.set(i.value); err != nil {
		return fmt.Errorf("%s %q: %w", i.usedName, i.value, err)
	}
	return nil
}

// completeValue returns the values of the flag that a shell can offer for completion, or lets the shell offer
// files or directories. It derives them from the placeholder of the value.
func (f *cliFlag) completeValue(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	switch f.value {
	case "PATH", "FILE", "SOCKET", "ADDR":
		return nil, cobra.ShellCompDirectiveDefault
	case "DIR":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case "LEVEL":
		return strings.Fields(logLevels), cobra.ShellCompDirectiveNoFileComp
	}
	if f.value != "" && strings.ToLower(f.value) == f.value { // The placeholder lists the values in lower case.
		return strings.Split(f.value, "|"), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// helpText returns the list of the flags for the help, each with its aliases below its description.
func (s flagSet) helpText() string {
	var b strings.Builder
	for i := range s {
		f := &s[i]
		fmt.Fprintf(&b, "  %-23s  %s\n", strings.TrimSpace(dashedName(f.name)+" "+f.value), f.description)
		if len(f.aliases) > 0 {
			fmt.Fprintf(&b, "  %-23s  also %s\n", "", strings.Join(f.dashedNames()[1:], ", "))
		}
	}
	return b.String()
}

// boolFlag returns a function that stores "true" or "false" in to. The function returns an error for any other
// text.
func boolFlag(to *bool) func(string) error {
	return func(s string) error {
		switch s {
		case "true", "false":
			*to = s == "true"
			return nil
		}
		return errors.New("expected true or false")
	}
}
