package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// options are the command line.
type options struct {
	manifests    string // empty: the embedded examples
	runtime      string
	criEndpoint  string
	nodeIPs      []string // empty: the machine's
	nodeName     string
	listen       string
	lasting      time.Duration // zero: until a signal comes
	stopOnExit   bool
	resync       time.Duration
	maxRestart   time.Duration
	relist       time.Duration
	housekeeping time.Duration
	orphanGrace  time.Duration // zero: the node's own
	maxSyncs     int
	stateDir     string // empty: volumes are in memory
	objects      string // empty: those of the embedded examples, or none
	capacity     v1.ResourceList
	labels       map[string]string
	dns          podsync.Resolver
	resolver     *string // file of the host's resolver configuration; nil: not said
	maxPulls     int
	imageGC      policy.Images
	logMaxBytes  int64
	logMaxFiles  int
	logLevel     slog.Level
	logFormat    string
	events       bool
	exec         bool
}

// cliFlag is a flag as people read of it.
type cliFlag struct {
	name, value, meaning string
	set                  func(string) error
}

// cliFlags are the flags, in the order of the help. Setting one changes o.
func (o *options) cliFlags() []cliFlag {
	return []cliFlag{
		{"manifests", "PATH", "directory or file of pod manifests (embedded examples)", o.setManifests},
		{"runtime", "memory|cri", "what runs the containers (memory)", oneOf("memory cri", func(s string) { o.runtime = s })},
		{"cri-endpoint", "SOCKET", "the CRI socket of the runtime (" + defaultEndpoint + ")", o.setEndpoint},
		{"node-ip", "IP,...", "addresses of the node (127.0.0.1; with cri the machine's)", o.setNodeIPs},
		{"node-name", "NAME", "static pods are called <name>-<node> (host name, lower case)", o.setNodeName},
		{"listen", "ADDR", "debug handler: /healthz, /pods, /explain, /logs (127.0.0.1:10348); empty for none", o.setListen},
		{"exec", "true|false", "allow agent exec from this machine (false)",
			oneOf("true false", func(s string) { o.exec = s == "true" })},
		{"for", "DURATION", "stop after this time (run until SIGINT or SIGTERM)", positive(&o.lasting)},
		{"on-exit", "leave|stop", "leave containers running, or stop all pods within their grace periods (leave)",
			oneOf("leave stop", func(s string) { o.stopOnExit = s == "stop" })},
		{"resync", "DURATION", "periodic resync interval of a pod (1m)", positive(&o.resync)},
		{"max-container-restart-period", "DURATION", "longest delay between restarts of a container (5m)", positive(&o.maxRestart)},
		{"relist", "DURATION", "interval of listings if the runtime has no event stream (1s)", positive(&o.relist)},
		{"housekeeping", "DURATION", "shortest time between two cleanups (2s)", positive(&o.housekeeping)},
		{"orphan-grace", "DURATION", "how long a pod that runs at the start may lack a manifest (30s); 0 for none", o.setOrphanGrace},
		{"max-syncs", "N", "how many pods are synced at once (0: no limit)", countOf(&o.maxSyncs)},
		{"state-dir", "DIR", "directory for volumes, logs and terminal statuses (none; with cri " + defaultStateDir + ")", o.setStateDir},
		{"objects", "DIR", "directory of ConfigMaps and Secrets, see below (none; the examples have their own)", o.setObjects},
		{"capacity", "NAME=N,...", "what pods may request, as cpu=4,memory=8Gi,pods=110 (not checked; 110 pods)", o.setCapacity},
		{"labels", "KEY=VALUE,...", "more labels of the node", o.setLabels},
		{"cluster-dns", "IP,...", "name servers of the cluster (none)", o.setClusterDNS},
		{"cluster-domain", "DOMAIN", "domain of the cluster, as cluster.local (none)", o.setClusterDomain},
		{"resolv-conf", "FILE", "resolver configuration of the host (with cri " + defaultResolver + "); empty for none", o.setResolver},
		{"max-parallel-pulls", "N", "images pulled at once (10; at most 5 from one registry); 0 for no limit", o.setMaxPulls},
		{"image-gc-high", "N", "disk usage in percent above which unused images are removed (85)", percent(&o.imageGC.HighThresholdPercent)},
		{"image-gc-low", "N", "disk usage in percent down to which they are removed (80)", percent(&o.imageGC.LowThresholdPercent)},
		{"image-max-age", "DURATION", "how long an unused image is kept (for ever)", positive(&o.imageGC.MaxAge)},
		{"log-max-size", "SIZE", "size at which a container's log is rotated (10Mi); 0 for never", o.setLogMaxSize},
		{"log-max-files", "N", "log files of a container, the current one included (5)", o.setLogMaxFiles},
		{"events", "true|false", "print the events of pods; repeated ones are counted (true)",
			oneOf("true false", func(s string) { o.events = s == "true" })},
		{"log-level", "LEVEL", "debug, info, warn or error (info)", oneOf("debug info warn error", func(s string) {
			_ = o.logLevel.UnmarshalText([]byte(s)) // It is one of these.
		})},
		{"log-format", "text|json", "format of the log (text)", oneOf("text json", func(s string) { o.logFormat = s })},
	}
}

func defaults() options {
	return options{
		runtime:      "memory",
		nodeName:     hostName(),
		listen:       defaultListen,
		resync:       time.Minute,
		relist:       time.Second,
		housekeeping: 2 * time.Second,
		logFormat:    "text",
		events:       true,
	}
}

// parse reads the command line. Its error has a line for everything that is
// wrong, or is flag.ErrHelp.
func parse(args []string) (options, error) {
	o := defaults()
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var faults []error
	for _, k := range o.cliFlags() {
		// The flag is good, whatever its value is: so all faults are found.
		flags.Func(k.name, k.meaning, func(value string) error {
			if err := k.set(value); err != nil {
				faults = append(faults, fmt.Errorf("--%s %q: %w", k.name, value, err))
			}
			return nil
		})
	}
	for len(args) > 0 {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		args = flags.Args()
		if err != nil {
			faults = append(faults, fmt.Errorf("%w (--help lists the flags)", err))
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				args = args[1:] // The value, presumably, of the flag that is none.
			}
		} else if len(args) > 0 {
			faults = append(faults, fmt.Errorf("%q is neither a command nor a flag (--help lists both)", args[0]))
			args = args[1:]
		}
	}
	return o, errors.Join(append(faults, o.contradictions()...)...)
}

func usage() string {
	var s strings.Builder
	s.WriteString("Usage: agent [flags]\n" +
		"       agent COMMAND ... [--server ADDR]\n\n" +
		"Runs a directory of Pod manifests and shows what becomes of them: as a table on\n" +
		"a terminal, and otherwise as a line for each change. With a command it asks an agent\n" +
		"that runs, at ADDR (" + defaultListen + "):\n\n" + usageOfCommands() +
		"\nFlags, with their defaults in parentheses:\n\n")
	var o options
	for _, k := range o.cliFlags() {
		fmt.Fprintf(&s, "  %-23s  %s\n", "--"+k.name+" "+k.value, k.meaning)
	}
	return s.String()
}

func oneOf(words string, set func(string)) func(string) error {
	return func(s string) error {
		known := strings.Fields(words)
		for _, word := range known {
			if s == word {
				set(s)
				return nil
			}
		}
		if len(known) > 2 {
			return errors.New("expected one of " + strings.Join(known, ", "))
		}
		return errors.New("expected " + strings.Join(known, " or "))
	}
}

func positive(d *time.Duration) func(string) error {
	return func(s string) (err error) {
		if *d, err = time.ParseDuration(s); err != nil || *d <= 0 {
			return errors.New("expected a duration above zero, such as 10s or 1m30s")
		}
		return nil
	}
}

func countOf(n *int) func(string) error {
	return func(s string) (err error) {
		if *n, err = strconv.Atoi(s); err != nil || *n < 0 {
			return errors.New("expected a number, or 0 for no bound")
		}
		return nil
	}
}

func (o *options) setListen(s string) error {
	o.listen = s
	return nil
}

func (o *options) setNodeName(s string) error {
	o.nodeName = strings.ToLower(s)
	if len(validation.IsDNS1123Subdomain(o.nodeName)) > 0 {
		return errors.New("expected a DNS name, of letters, digits, dashes and dots")
	}
	return nil
}

// setManifests checks the path once, so that a typing error is reported at
// once. Later changes of the path are handled by the source.
func (o *options) setManifests(path string) error {
	o.manifests = path
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return errors.New("is neither a directory nor a file")
	}
	if err == nil {
		err = readable(path)
	}
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		return cause.Err // The path has been said.
	}
	return err
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// hostName is the default name of the node.
func hostName() string {
	name, err := os.Hostname()
	name = strings.ToLower(name)
	if err != nil || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "localhost" // Not everything that hosts are called is a name for a pod.
	}
	return name
}

func (o *options) logger(w io.Writer) *slog.Logger {
	how := &slog.HandlerOptions{Level: o.logLevel}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, how))
	}
	return slog.New(slog.NewTextHandler(w, how))
}

// recorder prints events where the log goes.
func (o *options) recorder(w io.Writer, log *slog.Logger) *events {
	e := &events{now: time.Now}
	switch {
	case !o.events:
	case o.logFormat == "json":
		e.log = log
	default:
		e.out = w
	}
	return e
}
