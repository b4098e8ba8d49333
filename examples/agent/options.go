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

// options holds the values of the flags.
type options struct {
	metrics      *command.Metrics
	pods         []*v1.Pod // of the command run, instead of manifests; nil for other commands
	strict       bool      // unknown and duplicate fields are faults of manifests
	manifests    string    // empty: the embedded examples
	runtime      string    // empty: cri if criEndpoint is set
	criEndpoint  string
	nodeIPs      []string // empty: the machine's
	nodeName     string
	listen       string
	listenGiven  bool          // a flag names the address or port
	socket       string        // empty: none
	socketGiven  bool          // a flag names the socket
	runFor       time.Duration // zero: until a signal
	stopOnExit   bool
	resync       time.Duration
	maxRestart   time.Duration
	relist       time.Duration
	housekeeping time.Duration
	orphanGrace  time.Duration // zero: the default of the node
	maxSyncs     int
	stateDir     string // empty: volumes are in memory
	objects      string // empty: the embedded examples' objects, or none
	capacity     v1.ResourceList
	sysctls      command.UnsafeSysctls
	maxPods      int // zero: the pods of capacity, or the default of the node
	taints       []v1.Taint
	filePeriod   time.Duration // zero: the default of the source
	manifestURL  string        // empty: none
	urlHeader    http.Header
	urlPeriod    time.Duration // zero: the default of the source
	logs         command.Logs
	cgroups      command.PodCgroups
	eviction     command.Eviction
	reserved     command.Reserved
	config       string   // file with a KubeletConfiguration; empty: none
	warnings     []string // about that file
	args         []string // the command line
	setFlags     map[string]flagSource
	labels       map[string]string
	handlers     map[string]string // of runtime classes
	dns          podsync.Resolver
	resolver     *string // file with the host's resolver configuration; nil: not set
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

// defaults returns the default options.
func defaults() options {
	return options{
		setFlags:     map[string]flagSource{},
		nodeName:     hostNameOrLocalhost(),
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

// oneOfFlag returns a function that calls set if its argument is one of the words. The function returns an
// error for any other argument.
func oneOfFlag(words string, set func(string)) func(string) error {
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

// positiveDurationFlag returns a function that parses a duration above zero and stores it in d. The function
// returns an error for any other text.
func positiveDurationFlag(d *time.Duration) func(string) error {
	return func(s string) (err error) {
		if *d, err = time.ParseDuration(s); err != nil || *d <= 0 {
			return errors.New("expected a duration above zero, such as 10s or 1m30s")
		}
		return nil
	}
}

// countFlag returns a function that parses a number from 0 and stores it in n. The function returns an error
// for any other text.
func countFlag(n *int) func(string) error {
	return func(s string) (err error) {
		if *n, err = strconv.Atoi(s); err != nil || *n < 0 {
			return errors.New("expected a number, or 0 for no bound")
		}
		return nil
	}
}

// setListen stores the address of the HTTP server on TCP. An empty address disables the server.
func (o *options) setListen(s string) error {
	o.listen, o.listenGiven = s, true
	return nil
}

// setSocket stores the Unix socket's path and makes it absolute. An empty path disables the socket.
func (o *options) setSocket(s string) (err error) {
	o.socketGiven = true
	if o.socket = s; s != "" {
		o.socket, err = filepath.Abs(s)
	}
	return err
}

// setNodeName stores the name of the node in lower case. It returns an error if s is no DNS name.
func (o *options) setNodeName(s string) error {
	o.nodeName = strings.ToLower(s)
	if len(validation.IsDNS1123Subdomain(o.nodeName)) > 0 {
		return errors.New("expected a DNS name, of letters, digits, dashes and dots")
	}
	return nil
}

// setManifests stores the path of the manifests. It returns an error if the path is not a readable directory or
// regular file now.
func (o *options) setManifests(path string) error {
	o.manifests = path
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return errors.New("is neither a directory nor a file")
	}
	if err == nil {
		err = checkFileOrDirReadable(path)
	}
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		return cause.Err // The caller names the path.
	}
	return err
}

// checkFileOrDirReadable returns an error if a file or a directory cannot be opened for reading.
func checkFileOrDirReadable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// hostNameOrLocalhost returns the host name in lower case. It returns "localhost" if the host name is unknown
// or invalid in a pod's name.
func hostNameOrLocalhost() string {
	name, err := os.Hostname()
	name = strings.ToLower(name)
	if err != nil || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "localhost" // A host name may be invalid as part of a pod's name.
	}
	return name
}

// newLogger returns a logger that writes to w with the configured format and level.
func (o *options) newLogger(w io.Writer) *slog.Logger {
	how := &slog.HandlerOptions{Level: o.logLevel}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(visibleJSONWriter{w}, how))
	}
	return slog.New(slog.NewTextHandler(w, how)) // It quotes text that is not printable.
}

// logDroppedLines logs a warning with the number of dropped log lines to w.
func (o *options) logDroppedLines(w io.Writer, lines int) {
	o.newLogger(w).Warn("lines of the log were dropped, because standard error was not read", "lines", lines)
}

// newEventPrinter returns a printer of events. It prints text to w, or logs to log if the log format is JSON.
// Without --events it drops the events.
func (o *options) newEventPrinter(w io.Writer, log *slog.Logger) *eventPrinter {
	e := &eventPrinter{now: time.Now}
	switch {
	case !o.events:
	case o.logFormat == "json":
		e.log = log
	default:
		e.out = w
	}
	return e
}
