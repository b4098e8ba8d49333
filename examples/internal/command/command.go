package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
)

// Program is a command with its name and the text that it prints without arguments.
type Program struct{ Name, Guidance string }

// Run parses the flags and runs join, and returns the exit code: 2 for a wrong command line, 1 if join fails. Without
// arguments it prints the guidance. define declares the flags of the options in a set. check returns an error if the
// options are invalid.
func Run[O any](p Program, args []string, out, logs io.Writer, define func(*pflag.FlagSet) O, check, join func(O) error) int {
	if len(args) == 0 {
		fmt.Fprint(out, p.Guidance)
		return 0
	}
	fail := func(err error) { fmt.Fprintln(logs, p.Name+":", plain.VisibleLines(plain.Text(err.Error()))) }
	status := 0
	c := p.newCommand(out)
	o := define(c.Flags())
	c.Args = func(_ *cobra.Command, words []string) error {
		if len(words) > 0 {
			return fmt.Errorf("unexpected argument %q", words[0])
		}
		return check(o)
	}
	c.Run = func(*cobra.Command, []string) {
		if err := join(o); err != nil {
			fail(err)
			status = 1
		}
	}
	c.SetArgs(p.normalizeArgs(c.Flags(), args))
	if err := c.Execute(); err != nil {
		fail(err)
		return 2
	}
	return status
}

// newCommand returns the cobra command without flags. It sets the output, the help and the texts of flag
// errors. cobra adds completion scripts for shells.
func (p Program) newCommand(out io.Writer) *cobra.Command {
	c := &cobra.Command{Use: p.Name, SilenceErrors: true, SilenceUsage: true, ValidArgsFunction: cobra.NoFileCompletions}
	c.SetOut(out)
	c.SetErr(io.Discard)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return explainFlagError(c.Flags(), err) })
	defaultHelp := (&cobra.Command{}).HelpFunc()
	c.SetHelpFunc(func(asked *cobra.Command, words []string) {
		if asked != c {
			defaultHelp(asked, words) // The help of completion is cobra's.
			return
		}
		fmt.Fprint(out, p.Guidance, "\nFlags:\n")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				printFlag(out, f)
			}
		})
	})
	return c
}

// normalizeArgs converts a command line to arguments that cobra accepts. It returns the arguments of cobra's
// own commands, such as completion, unchanged. args must not be empty.
func (p Program) normalizeArgs(flags *pflag.FlagSet, args []string) []string {
	if args[0] == "completion" || args[0] == "help" || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args
	}
	return NormalizeArguments(flags, args, nil)
}

// printFlag prints the help of a flag with two dashes, its default and its description.
func printFlag(out io.Writer, f *pflag.Flag) {
	kind, text := pflag.UnquoteUsage(f)
	if f.DefValue != "" {
		text += " (default " + f.DefValue + ")"
	}
	fmt.Fprintf(out, "  %s\n    \t%s\n", strings.TrimSpace("--"+f.Name+" "+kind), text)
}

// explainFlagError converts an error of pflag to the sentence that these programs print. For an unknown flag it
// suggests a similar one.
func explainFlagError(flags *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &bare):
		return fmt.Errorf("flag needs an argument: --%s", bare.GetSpecifiedName())
	case errors.As(err, &invalid):
		return invalidValueError(invalid.GetFlag(), invalid.GetValue(), invalid.Unwrap())
	case !errors.As(err, &unknown):
		return err
	}
	text := "flag provided but not defined: --" + unknown.GetSpecifiedName()
	var known []string
	flags.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if meant := NearestWord(unknown.GetSpecifiedName(), known); meant != "" {
		text += "; did you mean --" + meant + "?"
	} else {
		text += ";"
	}
	return errors.New(text + " --help shows all flags")
}

// invalidValueError returns the error for an invalid value of a flag. For booleans, numbers and durations it
// has the sentence of the standard package flag, which these programs used before pflag.
func invalidValueError(f *pflag.Flag, value string, err error) error {
	switch f.Value.Type() {
	case "bool":
		return fmt.Errorf("invalid boolean value %q for --%s: parse error", value, f.Name)
	case "int", "duration":
		text := "parse error"
		if errors.Is(err, strconv.ErrRange) {
			text = "value out of range"
		}
		return fmt.Errorf("invalid value %q for flag --%s: %s", value, f.Name, text)
	}
	return fmt.Errorf("invalid value %q for flag --%s: %w", value, f.Name, err)
}

// LabelsFlag returns a setter that parses labels.
func LabelsFlag(into *map[string]string) func(string) error {
	return func(s string) error {
		*into = map[string]string{}
		for one := range strings.SplitSeq(s, ",") {
			key, value, ok := strings.Cut(one, "=")
			if !ok || key == "" {
				return errors.New("expected labels, as disk=ssd,zone=a")
			}
			(*into)[key] = value
		}
		return nil
	}
}

// TaintsFlag returns a setter that parses taints. The taints of several flags add up.
func TaintsFlag(into *[]v1.Taint) func(string) error {
	return func(s string) error {
		for one := range strings.SplitSeq(s, ",") {
			pair, effect, _ := strings.Cut(one, ":")
			key, value, _ := strings.Cut(pair, "=")
			switch v1.TaintEffect(effect) {
			case v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute:
			default:
				key = ""
			}
			if key == "" {
				return errors.New("expected taints, as dedicated=gpu:NoSchedule")
			}
			*into = append(*into, v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)})
		}
		return nil
	}
}
