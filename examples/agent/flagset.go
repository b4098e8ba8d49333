package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// item is one thing that a command line says: a flag with its value, a word, or a fault.
type item struct {
	flag  *cliFlag
	given string // the name under which the flag was given, with dashes
	value string
	word  string
	rest  bool // the word came after --
	fault error
}

// errHelp is what a command line is that asks for help.
var errHelp = errors.New("help")

// find finds a flag by any of its names.
func (s flagSet) find(name string) *cliFlag {
	for i := range s {
		if s[i].name == name || slices.Contains(s[i].also, name) {
			return &s[i]
		}
	}
	return nil
}

// read takes a command line apart. Flags and words may come in any order, a flag with one
// dash or two; all after -- are words. A boolean takes a value after = only, but for true
// and false, which may be the next word.
func (s flagSet) read(args []string) (items []item, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		dashes := len(arg) - len(strings.TrimLeft(arg, "-"))
		switch {
		case arg == "--":
			for _, word := range args {
				items = append(items, item{word: word, rest: true})
			}
			return items, nil
		case dashes == 0 || arg == "-":
			items = append(items, item{word: arg})
			continue
		case dashes > 2:
			items = append(items, item{fault: fmt.Errorf("bad flag %q (--help lists the flags)", arg)})
			continue
		}
		name, value, has := strings.Cut(arg[dashes:], "=")
		if s.find(name) == nil && (name == "help" || name == "h") {
			return nil, errHelp
		}
		var one item
		one, args = s.take(name, value, has, args)
		items = append(items, one)
	}
	return items, nil
}

// take reads one flag, of which the value may be the next word.
func (s flagSet) take(name, value string, has bool, args []string) (item, []string) {
	next := len(args) > 0 && (args[0] == "-" || !strings.HasPrefix(args[0], "-"))
	f := s.find(name)
	switch {
	case f == nil:
		if !has && next {
			args = args[1:] // The value, presumably, of the flag that is none.
		}
		return item{fault: s.unknown(name)}, args
	case has:
	case f.value == "" && next && (args[0] == "true" || args[0] == "false"):
		value, args = args[0], args[1:]
	case f.value == "":
		value = "true"
	case len(args) == 0:
		return item{fault: fmt.Errorf("flag needs an argument: %s (--help lists the flags)", dashed(name))}, args
	default:
		value, args = args[0], args[1:]
	}
	return item{flag: f, given: dashed(name), value: value}, args
}

// unknown says that there is no such flag, and which one may have been meant.
func (s flagSet) unknown(name string) error {
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
	if err := i.flag.set(i.value); err != nil {
		return fmt.Errorf("%s %q: %w", i.given, i.value, err)
	}
	return nil
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
