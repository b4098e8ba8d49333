package observe

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/eviction"
)

const (
	// refreshPeriod is how often a MemoryNotifier computes its threshold again, because the inactive file cache changes.
	refreshPeriod = 10 * time.Second
	// minRequestPeriod is the shortest time between two requests of a MemoryNotifier.
	minRequestPeriod = time.Second
)

// MemoryNotifierConfig configures a MemoryNotifier. Threshold is required.
type MemoryNotifierConfig struct {
	// Threshold is the hard threshold of memory.available.
	Threshold eviction.Amount
	// Cgroup is the directory of the memory controller of cgroup v1 for the whole machine. Empty is
	// /sys/fs/cgroup/memory.
	Cgroup string
	// Proc is the directory of procfs. Empty is /proc.
	Proc string
	// Clock is the clock for pauses between requests; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

// MemoryNotifier is a node.MemoryNotifier: the kernel notifies it when the machine uses more memory than a threshold
// allows, so that a pass of the evictor need not wait for its period. The kernel does so on cgroup v1 only.
type MemoryNotifier struct {
	config   MemoryNotifierConfig
	executor executor.Executor
}

// NewMemoryNotifier returns a MemoryNotifier. It opens nothing before Run.
func NewMemoryNotifier(config MemoryNotifierConfig) *MemoryNotifier {
	config.Cgroup, config.Proc = cmp.Or(config.Cgroup, "/sys/fs/cgroup/memory"), cmp.Or(config.Proc, "/proc")
	config.Clock = cmp.Or[clock.Clock](config.Clock, clock.RealClock{})
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	return &MemoryNotifier{config, executor.Over(config.Clock)}
}

// Run calls request each time that the memory usage of the machine crosses the threshold, and at most once a second. It
// returns when ctx ends. On a host that cannot notify, such as one with cgroup v2, it logs that once and returns. The
// error is always nil: without notifications the evictor still measures in each pass.
func (m *MemoryNotifier) Run(ctx context.Context, request func()) error {
	for ctx.Err() == nil {
		crossed, err := m.waitForCrossing(ctx)
		if err != nil {
			m.config.Log.Warn("the kernel does not notify about memory: the node notices a shortage only in its next pass", "err", err)
			return nil
		}
		if !crossed {
			continue
		}
		request()
		if m.executor.Sleep(ctx, minRequestPeriod) != nil {
			break
		}
	}
	return nil
}
