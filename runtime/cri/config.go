package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/osfile"
)

// Config is what a Runtime is made from. Endpoint and Owner are required.
type Config struct {
	// Endpoint is the socket on which the runtime speaks CRI, as
	// "unix:///run/containerd/containerd.sock" or an absolute path.
	Endpoint string
	// Owner says whose records are ours; see OwnerFile. At most 63 letters,
	// digits, dots, dashes and underscores.
	Owner string
	// Deadlines bound the calls.
	Deadlines Deadlines
	// MaxMessageBytes is how long an answer may be. Zero is 16 MiB.
	MaxMessageBytes int
	// Parallel is how many statuses of one pod are asked for at once. Zero is 8.
	Parallel int
	// CgroupVersion is that of the machine whose containers the runtime runs: 1, also
	// where both are mounted, or 2. Zero is that of the machine of this process.
	CgroupVersion int
	// Clock is for deadlines. Nil is the real one.
	Clock clock.Clock
	// Log gets what people should know. Nil discards.
	Log *slog.Logger
	// Hooks observe.
	Hooks Hooks
	// DialContext makes connections, to the endpoint and to the streaming server of
	// the runtime; nil is a net.Dialer's.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Deadlines bound calls that a caller's context does not end earlier. A runtime
// that hangs is an error after that long.
type Deadlines struct {
	// Read is for lists, statuses and whatever else changes nothing. Zero is
	// 30 s.
	Read time.Duration
	// Make is for sandboxes and containers that are run, created and started, or
	// changed while they run.
	// Zero is 4 minutes.
	Make time.Duration
	// Remove is for what is stopped and removed, beyond the grace of a stop.
	// Zero is 2 minutes.
	Remove time.Duration
	// Pull is for pulls of images. Zero is an hour.
	Pull time.Duration
}

// Hooks are called without any lock held. Each may be nil.
type Hooks struct {
	// Skipped is called, concurrently too, for each listed record that cannot be
	// attributed to a pod of this owner: without metadata, without a pod, of another
	// owner in spite of the filter.
	Skipped func(Skipped)
	// Connected is called when a runtime has answered the first call of a
	// connection.
	Connected func(name, version string)
	// Called is called after each call of CRI, concurrently too, with its name there, such
	// as RunPodSandbox. Calls that stream are not told of.
	Called func(verb string, took time.Duration, err error)
}

// Skipped is a record that cannot be attributed to a pod.
type Skipped struct {
	Kind   string // "sandbox" or "container"
	ID     string
	Reason string
}

// The bounds of what has one.
const (
	defaultMessage  = 16 << 20
	longestEndpoint = 107 // what a socket's address has room for
	longestOwner    = 63
)

// complete fills in what is left out and says everything that is wrong.
func (c *Config) complete() error {
	done := contain.CheckConfig("cri: Config")
	done.AddError(c.completeEndpoint())
	done.FaultIf(!validOwner(c.Owner), fmt.Sprintf("Owner %q is not 1 to %d letters, digits, dots, dashes and underscores", c.Owner, longestOwner))
	contain.DefaultNumber(done, "Deadlines.Read", &c.Deadlines.Read, 30*time.Second)
	contain.DefaultNumber(done, "Deadlines.Make", &c.Deadlines.Make, 4*time.Minute)
	contain.DefaultNumber(done, "Deadlines.Remove", &c.Deadlines.Remove, 2*time.Minute)
	contain.DefaultNumber(done, "Deadlines.Pull", &c.Deadlines.Pull, time.Hour)
	contain.DefaultNumber(done, "MaxMessageBytes", &c.MaxMessageBytes, defaultMessage)
	contain.DefaultNumber(done, "Parallel", &c.Parallel, 8)
	done.FaultIf(c.CgroupVersion < 0 || c.CgroupVersion > 2, fmt.Sprintf("CgroupVersion %d is neither 1 nor 2", c.CgroupVersion))
	if c.CgroupVersion == 0 {
		c.CgroupVersion = osfile.CgroupVersion(cgroupRoot)
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	contain.SetDefault(&c.DialContext, new(net.Dialer).DialContext)
	contain.SetDefault(&c.Hooks.Skipped, func(Skipped) {})
	contain.SetDefault(&c.Hooks.Connected, func(string, string) {})
	contain.SetDefault(&c.Hooks.Called, func(string, time.Duration, error) {})
	return done.Err()
}

// completeEndpoint leaves the path of the socket.
func (c *Config) completeEndpoint() error {
	if c.Endpoint == "" {
		return errors.New("cri: Config.Endpoint is missing")
	}
	path, schemed := strings.CutPrefix(c.Endpoint, "unix://")
	switch {
	case !schemed && strings.Contains(path, "://"), !filepath.IsAbs(path):
		return fmt.Errorf("cri: Config.Endpoint %q is neither unix:// and an absolute path nor such a path", c.Endpoint)
	case len(path) > longestEndpoint:
		return fmt.Errorf("cri: Config.Endpoint %q is longer than a socket's address can be", c.Endpoint)
	}
	c.Endpoint = path
	return nil
}

// validOwner wants what any runtime takes as the value of a label.
func validOwner(owner string) bool {
	for _, r := range owner {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("._-", r) {
			return false
		}
	}
	return owner != "" && len(owner) <= longestOwner
}
