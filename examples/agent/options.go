package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// options are the command line.
type options struct {
	manifests    string
	nodeName     string
	listen       string
	stopOnExit   bool
	resync       time.Duration
	relist       time.Duration
	housekeeping time.Duration
	maxSyncs     int
	log          *slog.Logger
}

// errHelp: the person asked for help and has got it.
var errHelp = flag.ErrHelp

// parse reads the command line. Its error is one sentence for the person who
// typed it.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.manifests, "manifests", "", "directory or file of pod `manifests` (default: embedded examples)")
	rt := flags.String("runtime", "memory", "what runs the containers: memory")
	flags.StringVar(&o.nodeName, "node-name", hostName(), "static pods are called <name>-<node>")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:10348", "`address` of the debug handler: /healthz, /readyz, /pods; empty for none")
	onExit := flags.String("on-exit", "leave", "leave containers to the runtime, or stop all pods within their grace: leave or stop")
	flags.DurationVar(&o.resync, "resync", time.Minute, "how often a pod is looked at without a reason")
	flags.DurationVar(&o.relist, "relist", time.Second, "how often the runtime is listed when it has no event stream")
	flags.DurationVar(&o.housekeeping, "housekeeping", 2*time.Second, "least time between two cleanups")
	flags.IntVar(&o.maxSyncs, "max-syncs", 0, "how many pods are synced at once; 0 for no bound")
	level := flags.String("log-level", "info", "debug, info, warn or error")
	format := flags.String("log-format", "text", "text or json")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(flags, stderr)
		}
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("it takes flags only, and was given %q", flags.Arg(0))
	}
	log, err := logger(stderr, *level, *format)
	o.log = log
	o.stopOnExit = *onExit == "stop"
	return o, errors.Join(err, o.check(*rt, *onExit))
}

func usage(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprintln(w, "Usage: agent [flags]\n\nRuns a directory of Pod manifests and prints what becomes of them.")
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// check names every value that makes no sense.
func (o *options) check(runtime, onExit string) error {
	var errs []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(runtime != "memory", "--runtime is %q, and this agent has only memory", runtime)
	fault(onExit != "leave" && onExit != "stop", "--on-exit is %q, and must be leave or stop", onExit)
	o.nodeName = strings.ToLower(o.nodeName)
	fault(len(validation.IsDNS1123Subdomain(o.nodeName)) > 0, "--node-name is %q, and must be a DNS name", o.nodeName)
	for name, d := range map[string]time.Duration{"resync": o.resync, "relist": o.relist, "housekeeping": o.housekeeping} {
		fault(d <= 0, "--%s is %s, and must be more than nothing", name, d)
	}
	fault(o.maxSyncs < 0, "--max-syncs is %d, and can not be negative", o.maxSyncs)
	if o.manifests != "" {
		errs = append(errs, readable(o.manifests))
	}
	return errors.Join(errs...)
}

// readable looks at the path once, so that a slip of the hand is told at once.
// What happens to the path later is the source's business.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--manifests can not be read: %w", err)
	}
	return f.Close()
}

func logger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level is %q, and must be debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("--log-format is %q, and must be text or json", format)
}

// hostName is the default node name.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return strings.ToLower(name)
}
