package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
)

// errHelp is the end of a run that only shows the flags.
var errHelp = errors.New("help")

// Program is a command of a name, with a guidance for a first look.
type Program struct{ Name, Guidance string }

// Run runs the program without the process around it, and returns the status of the process:
// 2 if parse refuses the arguments, 1 if join fails. Without arguments it prints the guidance.
func Run[O any](p Program, args []string, out, logs io.Writer, parse func(args []string, out io.Writer) (O, error), join func(O) error) int {
	if len(args) == 0 {
		fmt.Fprint(out, p.Guidance)
		return 0
	}
	o, err := parse(args, out)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintln(logs, p.Name+":", plain.VisibleLines(plain.Text(err.Error())))
		return 2
	}
	if err := join(o); err != nil {
		fmt.Fprintln(logs, p.Name+":", plain.VisibleLines(plain.Text(err.Error())))
		return 1
	}
	return 0
}

// Parse reads the flags; nothing else may follow. It prints guidance and flags if help is asked
// for, and fails then, which Run takes for the end.
func (p Program) Parse(f *flag.FlagSet, args []string, out io.Writer) error {
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, p.Guidance, "\nFlags:\n")
		f.VisitAll(func(f *flag.Flag) { describe(out, f) })
		return errHelp
	case err != nil:
		return twoDashes(f, err)
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return nil
}

// describe prints a flag as people write it, with two dashes. So do kubelets.
func describe(out io.Writer, f *flag.Flag) {
	kind, text := flag.UnquoteUsage(f)
	if f.DefValue != "" {
		text += " (default " + f.DefValue + ")"
	}
	fmt.Fprintf(out, "  %s\n    \t%s\n", strings.TrimSpace("--"+f.Name+" "+kind), text)
}

// twoDashes turns an error of package flag into one of these programs.
func twoDashes(f *flag.FlagSet, err error) error {
	text := strings.NewReplacer("not defined: -", "not defined: --", "for flag -", "for flag --", "for -", "for --", "argument: -", "argument: --").Replace(err.Error())
	if wrong, unknown := strings.CutPrefix(text, "flag provided but not defined: --"); unknown {
		var known []string
		f.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		if meant := Meant(wrong, known); meant != "" {
			text += "; did you mean --" + meant + "?"
		} else {
			text += ";"
		}
		text += " --help shows all flags"
	}
	return errors.New(text)
}

// Labels is a flag of labels.
func Labels(into *map[string]string) func(string) error {
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

// Taints is a flag of taints; those of several flags add up.
func Taints(into *[]v1.Taint) func(string) error {
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
