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

// Config configures a Runtime. Endpoint and Owner are required.
type Config struct {
	// Endpoint is the CRI socket of the runtime, such as "unix:///run/containerd/containerd.sock",
	// or its absolute path.
	Endpoint string
	// Owner is the owner of all sandboxes and containers of this agent; see OwnerFile. It has at
	// most 63 letters, digits, dots, dashes and underscores.
	Owner string
	// Deadlines limit the duration of calls.
	Deadlines Deadlines
	// MaxMessageBytes limits the size of a response. Zero is 16 MiB.
	MaxMessageBytes int
	// Parallel is how many status calls for one pod run concurrently. Zero is 8.
	Parallel int
	// CgroupVersion is the cgroup version of the machine that runs the containers: 2, or 1, also if
	// both are mounted. Zero is the version of the machine of this process.
	CgroupVersion int
	// Clock is used for deadlines. Nil is the real clock.
	Clock clock.Clock
	// Log gets warnings and debug messages. Nil discards them.
	Log *slog.Logger
	// Hooks observe the calls.
	Hooks Hooks
	// DialContext opens connections to the endpoint and to the streaming server of the runtime. Nil
	// uses a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Deadlines limit calls whose context does not end earlier. After that time the call returns an
// error.
type Deadlines struct {
	// Read is for lists, statuses and other calls that change nothing. Zero is 30 s.
	Read time.Duration
	// Make is for running sandboxes, and for creating, starting and updating containers. Zero is 4
	// minutes.
	Make time.Duration
	// Remove is for stops, in addition to their grace period, and for removals. Zero is 2 minutes.
	Remove time.Duration
	// Pull is for image pulls. Zero is an hour.
	Pull time.Duration
}

// Hooks are called without any lock held. Each may be nil.
type Hooks struct {
	// Skipped is called for each listed record that belongs to no pod of this owner: it has no
	// metadata or no pod UID, or has another owner in spite of the filter. Calls may overlap.
	Skipped func(Skipped)
	// Connected is called after the handshake of each connection.
	Connected func(name, version string)
	// Called is called after each CRI call with its CRI name, such as RunPodSandbox. Calls may
	// overlap. Streaming calls are not reported.
	Called func(verb string, took time.Duration, err error)
}

// Skipped is a record that belongs to no pod of this owner.
type Skipped struct {
	Kind   string // "sandbox" or "container"
	ID     string
	Reason string
}

// Limits of the Config.
const (
	defaultMaxMessageBytes = 16 << 20
	maxEndpointBytes       = 107 // the limit of a Unix socket address
	maxOwnerBytes          = 63
)

// setDefaultsAndCheck sets the defaults of unset fields and removes unix:// from the endpoint. It returns one
// error that names all invalid fields, or nil.
func (c *Config) setDefaultsAndCheck() error {
	done := contain.CheckConfig("cri: Config")
	done.AddError(c.stripUnixSchemeAndCheckSocketPath())
	done.FaultIf(!isValidOwner(c.Owner), fmt.Sprintf("Owner %q is not 1 to %d letters, digits, dots, dashes and underscores", c.Owner, maxOwnerBytes))
	contain.DefaultNumber(done, "Deadlines.Read", &c.Deadlines.Read, 30*time.Second)
	contain.DefaultNumber(done, "Deadlines.Make", &c.Deadlines.Make, 4*time.Minute)
	contain.DefaultNumber(done, "Deadlines.Remove", &c.Deadlines.Remove, 2*time.Minute)
	contain.DefaultNumber(done, "Deadlines.Pull", &c.Deadlines.Pull, time.Hour)
	contain.DefaultNumber(done, "MaxMessageBytes", &c.MaxMessageBytes, defaultMaxMessageBytes)
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

// stripUnixSchemeAndCheckSocketPath removes unix:// from Endpoint. It returns an error if Endpoint is empty, is not an absolute
// path, or is too long for a socket address.
func (c *Config) stripUnixSchemeAndCheckSocketPath() error {
	if c.Endpoint == "" {
		return errors.New("cri: Config.Endpoint is missing")
	}
	path, schemed := strings.CutPrefix(c.Endpoint, "unix://")
	switch {
	case !schemed && strings.Contains(path, "://"), !filepath.IsAbs(path):
		return fmt.Errorf("cri: Config.Endpoint %q must be an absolute path, with or without unix:// before it", c.Endpoint)
	case len(path) > maxEndpointBytes:
		return fmt.Errorf("cri: Config.Endpoint %q is longer than the maximum length of a socket address", c.Endpoint)
	}
	c.Endpoint = path
	return nil
}

// isValidOwner reports whether an owner can be the value of a label in every runtime: 1 to maxOwnerBytes
// letters, digits, dots, dashes and underscores.
func isValidOwner(owner string) bool {
	for _, r := range owner {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("._-", r) {
			return false
		}
	}
	return owner != "" && len(owner) <= maxOwnerBytes
}
