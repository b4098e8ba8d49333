package images

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// The defaults of Config.
const (
	// DefaultMaxPulls is the default of Config.MaxPulls.
	DefaultMaxPulls = 10
	// DefaultMaxPullsPerRegistry is the default of Config.MaxPullsPerRegistry.
	DefaultMaxPullsPerRegistry = 5
	// DefaultPullTimeout is the default of Config.PullTimeout.
	DefaultPullTimeout = time.Hour
	// DefaultCallTimeout is the default of Config.CallTimeout.
	DefaultCallTimeout = 2 * time.Minute
)

// Config has the parts and the settings of a Manager. Images is required.
type Config struct {
	// Images are the images of the runtime.
	Images runtime.Images
	// MaxPulls bounds the pulls that run at the same time. Zero is DefaultMaxPulls. A negative number
	// means no bound.
	MaxPulls int
	// MaxPullsPerRegistry bounds the pulls from one registry that run at the same time. Zero is
	// DefaultMaxPullsPerRegistry. A negative number means no bound.
	MaxPullsPerRegistry int
	// PullTimeout bounds each pull, with all its credentials, from the time when it leaves the queue.
	// Zero is DefaultPullTimeout.
	PullTimeout time.Duration
	// CallTimeout bounds the removal of an image. Zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// Clock is the clock of all times. Nil is the real clock.
	Clock clock.Clock
	// Log receives the stacks of contained panics. Nil discards them.
	Log *slog.Logger
	// Hooks are called for pulls and panics.
	Hooks Hooks
}

// Hooks report the actions of a Manager. The goroutine that acts calls them, with no lock held. Each
// may be nil, and none may block.
type Hooks struct {
	// Pulled is called after each pull, before its callers return.
	Pulled func(Pull)
	// Panicked is called after each contained panic of the runtime or of another hook. call is the name
	// of the call.
	Panicked func(call string, err error)
}

// wrapForPanics wraps the runtime and the hook Pulled in the Config, so that a panic in one becomes an error of
// that call or, in the hook, is only reported.
func (c *Config) wrapForPanics() {
	g := contain.New(contain.Config{Package: "images", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Images = contain.NewRuntime(g, c.Images)
	c.Hooks.Pulled = contain.Hook1(g, "Hooks.Pulled", c.Hooks.Pulled)
}

// Pull is one finished pull.
type Pull struct {
	Image string
	Took  time.Duration // from the time when the pull left the queue
	Err   error
}

// Manager pulls images and protects them from removal while they are needed. Its methods may be called
// concurrently.
type Manager struct {
	config   Config
	executor executor.Executor
	mu       struct {
		sync.Mutex
		flights         map[string][]*sharedPull // the pulls, by image
		waiting         list.List                // the queue of *sharedPull
		pulls           int                      // the number of running pulls
		pullsByRegistry map[string]int           // the running pulls, by registry host
		leases          map[*Lease]struct{}
		removals        []*removal
		sweeps          map[*Sweep]struct{}
	}
}

// New returns a Manager. It starts nothing, and a Manager has nothing to stop.
func New(config Config) (*Manager, error) {
	if err := config.setDefaultsAndValidate(); err != nil {
		return nil, err
	}
	config.wrapForPanics()
	m := &Manager{config: config, executor: executor.Over(config.Clock)}
	m.mu.flights, m.mu.pullsByRegistry = make(map[string][]*sharedPull), make(map[string]int)
	m.mu.leases, m.mu.sweeps = make(map[*Lease]struct{}), make(map[*Sweep]struct{})
	return m, nil
}

// setDefaultsAndValidate replaces missing values by defaults and limits the timeouts to the longest allowed
// duration. It returns an error that lists the missing fields and invalid values.
func (c *Config) setDefaultsAndValidate() error {
	done := contain.CheckConfig("images: Config")
	done.MissingIf(c.Images == nil, "Images")
	c.MaxPulls = cmp.Or(c.MaxPulls, DefaultMaxPulls)
	c.MaxPullsPerRegistry = cmp.Or(c.MaxPullsPerRegistry, DefaultMaxPullsPerRegistry)
	contain.DefaultNumber(done, "PullTimeout", &c.PullTimeout, DefaultPullTimeout)
	contain.DefaultNumber(done, "CallTimeout", &c.CallTimeout, DefaultCallTimeout)
	c.PullTimeout, c.CallTimeout = min(c.PullTimeout, podspec.MaxDuration), min(c.CallTimeout, podspec.MaxDuration)
	return done.Err()
}

// Keyring finds the credentials for images.
type Keyring interface {
	// Credentials returns the credentials to try for an image, in order. None means an anonymous pull.
	// pullSecrets are the Secrets that the pod names and that could be read. Credentials is called
	// before each pull, concurrently, and returns when ctx ends. If it also returns an error, the
	// credentials are used and the error is only logged.
	Credentials(ctx context.Context, image string, pod *v1.Pod, pullSecrets []v1.Secret) ([]runtime.Auth, error)
}

// PullSecrets is the default Keyring. It reads the Secrets that the pod names and has no other
// credentials.
type PullSecrets struct{}

var _ Keyring = PullSecrets{}

// Credentials implements Keyring. It returns all credentials that match the image, the most specific
// first. The error names the Secrets that cannot be read.
func (PullSecrets) Credentials(_ context.Context, image string, _ *v1.Pod, pullSecrets []v1.Secret) ([]runtime.Auth, error) {
	auths, err := credentialsForImage(image, pullSecrets)
	if err != nil {
		return auths, fmt.Errorf("images: %w", err)
	}
	return auths, nil
}
