package main

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// options are the command line.
type options struct {
	metrics      *command.Metrics
	pods         []*v1.Pod // of the command run, instead of manifests; nil without it
	strict       bool      // unknown and duplicate fields are faults of manifests
	manifests    string    // empty: the embedded examples
	runtime      string    // empty: cri if there is a criEndpoint
	criEndpoint  string
	nodeIPs      []string // empty: the machine's
	nodeName     string
	listen       string
	listenGiven  bool          // a flag names the address or port
	socket       string        // empty: none
	socketGiven  bool          // a flag names the socket
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
	maxPods      int // zero: that of capacity, or the node's own
	taints       []v1.Taint
	filePeriod   time.Duration // zero: the source's own
	manifestURL  string        // empty: none
	urlHeader    http.Header
	urlPeriod    time.Duration // zero: the source's own
	logs         command.Logs
	config       string   // file with a KubeletConfiguration; empty: none
	warnings     []string // of that file
	args         []string // the command line
	said         map[string]said
	labels       map[string]string
	handlers     map[string]string // of runtime classes
	dns          podsync.Resolver
	resolver     *string // file of the host's resolver configuration; nil: not said
	maxPulls     int
	imageGC      policy.Images
	logMaxBytes  int64
	logMaxFiles  int
	logLevel     slog.Level
	logFormat    string
	events       bool
	printLogs    bool // of the command run
	exec         bool
	api          apiOptions
}

func defaults() options {
	return options{
		said:         map[string]said{},
		nodeName:     hostName(),
		listen:       defaultListen,
		socket:       defaultSocket(os.Getenv, os.Geteuid()),
		resync:       time.Minute,
		relist:       time.Second,
		housekeeping: 2 * time.Second,
		logFormat:    "text",
		events:       true,
		api:          apiOptions{listen: defaultAPIListen},
	}
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

// setListen sets the address of the debug handler; an empty one is for none.
func (o *options) setListen(s string) error {
	o.listen, o.listenGiven = s, true
	return nil
}

// setSocket sets the path of the socket; an empty one is for none.
func (o *options) setSocket(s string) (err error) {
	o.socketGiven = true
	if o.socket = s; s != "" {
		o.socket, err = filepath.Abs(s)
	}
	return err
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
		return slog.New(slog.NewJSONHandler(jsonLines{w}, how))
	}
	return slog.New(slog.NewTextHandler(w, how)) // It quotes whatever is not printable.
}

// reportDropped logs how many lines of the log were dropped.
func (o *options) reportDropped(w io.Writer, lines int) {
	o.logger(w).Warn("lines of the log were dropped, because standard error was not read", "lines", lines)
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
