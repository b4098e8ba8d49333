package command

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// The faults that NormalizeArguments finds.
var (
	// ErrUnknownFlag means that the set does not have the flag.
	ErrUnknownFlag = errors.New("unknown flag")
	// ErrBadFlag means that the flag has three dashes or more.
	ErrBadFlag = errors.New("bad flag")
	// ErrNoValue means that the last flag of the line lacks its value.
	ErrNoValue = errors.New("flag needs an argument")
)

// NormalizeArguments converts a command line for pflag. Before these programs used pflag they accepted more forms, and
// they still do:
//
//   - a long flag with one dash: -runtime memory
//   - true or false as the next word of a boolean flag: --exec false
//
// In the result each flag is one argument with two dashes and, after =, its value. replace returns the replacement for
// an argument with a fault. If replace is nil, pflag reports the fault.
func NormalizeArguments(flags *pflag.FlagSet, args []string, replace func(arg string, fault error) string) (result []string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		dashes := len(arg) - len(strings.TrimLeft(arg, "-"))
		if arg == "--" {
			return append(append(result, arg), args...)
		}
		if dashes == 0 || arg == "-" {
			result = append(result, arg)
			continue
		}
		name, value, hasValue := strings.Cut(arg[dashes:], "=")
		flag := flags.Lookup(name)
		word := len(args) > 0 && (args[0] == "-" || !strings.HasPrefix(args[0], "-"))
		var fault error
		switch {
		case dashes > 2:
			fault = ErrBadFlag
		case flag == nil && (name == "help" || name == "h"):
			name, hasValue = "help", false
		case flag == nil:
			fault = ErrUnknownFlag
			if word && !hasValue && replace != nil {
				args = args[1:] // The word is probably the value of the unknown flag.
			}
		case hasValue:
		case flag.NoOptDefVal == "" && len(args) == 0:
			fault = ErrNoValue
		case flag.NoOptDefVal == "", word && (args[0] == "true" || args[0] == "false"):
			value, hasValue, args = args[0], true, args[1:]
		}
		normal := "--" + name
		if hasValue {
			normal += "=" + value
		}
		switch {
		case fault != nil && replace != nil:
			normal = replace(arg, fault)
		case fault == ErrBadFlag:
			normal = arg
		}
		result = append(result, normal)
	}
	return result
}
