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

// Defaults of Config.
const (
	// DefaultMaxPulls is how many pulls are made at once.
	DefaultMaxPulls = 10
	// DefaultMaxPullsPerRegistry is how many of them are of one registry.
	DefaultMaxPullsPerRegistry = 5
	// DefaultPullTimeout bounds one pull.
	DefaultPullTimeout = time.Hour
	// DefaultCallTimeout bounds the removal of an image.
	DefaultCallTimeout = 2 * time.Minute
)

// Config is what a Manager is made of. Images is required.
type Config struct {
	// Images has them.
	Images runtime.Images
	// MaxPulls is how many pulls are made at once; zero is DefaultMaxPulls,
	// negative any number.
	MaxPulls int
	// MaxPullsPerRegistry is how many of them are of one registry; zero is
	// DefaultMaxPullsPerRegistry, negative any number.
	MaxPullsPerRegistry int
	// PullTimeout bounds each pull, with all credentials that are tried in it,
	// once its turn has come; zero is DefaultPullTimeout.
	PullTimeout time.Duration
	// CallTimeout bounds the removal of an image; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives the stacks of contained panics; nil discards them.
	Log *slog.Logger
	// Hooks observe.
	Hooks Hooks
}

// Hooks are called with what happens, with no lock held, by the goroutine in which it
// does. Each may be nil, and none may block.
type Hooks struct {
	// Pulled is called after each pull, before its callers return.
	Pulled func(Pull)
	// Panicked is called after each panic of the runtime or another hook that was
	// contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps whatever a Manager calls that others have written: a panic there is
// the error of that call.
func (c *Config) contain() {
	g := contain.New(contain.Config{Package: "images", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Images = contain.NewRuntime(g, c.Images)
	c.Hooks.Pulled = contain.Hook1(g, "Hooks.Pulled", c.Hooks.Pulled)
}

// Pull is a pull that was made.
type Pull struct {
	Image string
	Took  time.Duration // from the moment its turn had come
	Err   error
}

// Manager brings images and keeps them. Its methods may be called concurrently.
type Manager struct {
	config   Config
	executor executor.Executor
	mu       struct {
		sync.Mutex
		flights  map[string][]*flight // by image
		waiting  list.List            // of *flight: those whose turn has not come
		pulls    int                  // whose turn has come
		of       map[string]int       // registries: the same, of one
		leases   map[*Lease]struct{}
		removals []*removal
		sweeps   map[*Sweep]struct{}
	}
}

// New makes a Manager. It starts nothing and has nothing to stop.
func New(config Config) (*Manager, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	config.contain()
	m := &Manager{config: config, executor: executor.Over(config.Clock)}
	m.mu.flights, m.mu.of = make(map[string][]*flight), make(map[string]int)
	m.mu.leases, m.mu.sweeps = make(map[*Lease]struct{}), make(map[*Sweep]struct{})
	return m, nil
}

func (c *Config) complete() error {
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
	// Credentials returns what to try for an image, in order; none is an
	// anonymous pull. pullSecrets are those that the pod names and that could be
	// had. It is called before each pull, concurrently, and ends with ctx. What
	// it returns is used also if it returns an error, which is only logged.
	Credentials(ctx context.Context, image string, pod *v1.Pod, pullSecrets []v1.Secret) ([]runtime.Auth, error)
}

// PullSecrets is the default Keyring: it reads the Secrets that
// the pod names and knows nothing else.
type PullSecrets struct{}

var _ Keyring = PullSecrets{}

// Credentials implements Keyring. All that cover the image are given, the most
// particular first. Its error names the Secrets that cannot be read.
func (PullSecrets) Credentials(_ context.Context, image string, _ *v1.Pod, pullSecrets []v1.Secret) ([]runtime.Auth, error) {
	auths, err := readCredentials(image, pullSecrets)
	if err != nil {
		return auths, fmt.Errorf("images: %w", err)
	}
	return auths, nil
}
