package podworkerstest

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Cache is a status cache that observes whenever it is asked: every reader of NewerThan
// gets an observation of its own, with a new number. It shows what Set told it, and an
// empty status for all other pods. All methods are safe for concurrent use.
type Cache struct {
	mu struct {
		sync.Mutex
		executor executor.Executor
		takes    time.Duration
		begun    uint64 // observations
		statuses map[types.UID]*runtime.PodStatus
		errs     map[types.UID]error
		numbers  map[types.UID]uint64         // the newest observation of each
		hung     map[types.UID]executor.Latch // open once the pod can be seen again
	}
}

// NewCache makes a cache whose observations take no time. A nil clock is the
// real one.
func NewCache(clk clock.Clock) *Cache {
	c := &Cache{}
	c.mu.statuses = map[types.UID]*runtime.PodStatus{}
	c.mu.errs = map[types.UID]error{}
	c.mu.numbers = map[types.UID]uint64{}
	c.mu.hung = map[types.UID]executor.Latch{}
	c.on(clk)
	return c
}

// on moves the cache to a clock: that of a new process after a crash.
func (c *Cache) on(clk clock.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.executor = executor.Over(clk)
}

// SetLatency is how long each observation takes from now on.
func (c *Cache) SetLatency(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.takes = d
}

// Set is what is observed of a pod from now on.
func (c *Cache) Set(status *runtime.PodStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.statuses[status.UID] = status
}

// Fail makes observations of a pod fail, until it is called with nil.
func (c *Cache) Fail(uid types.UID, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.errs[uid] = err
}

// Hang makes observations of a pod wait until Resume, or their context's end.
func (c *Cache) Hang(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.hung[uid] == nil {
		c.mu.hung[uid] = c.mu.executor.NewLatch()
	}
}

// Resume ends a Hang.
func (c *Cache) Resume(uid types.UID) {
	c.mu.Lock()
	hung := c.mu.hung[uid]
	delete(c.mu.hung, uid)
	c.mu.Unlock()
	if hung != nil {
		hung.Open()
	}
}

// Get returns what Set or Fail said last. It observes nothing.
func (c *Cache) Get(uid types.UID) (*runtime.PodStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statusLocked(uid), c.mu.errs[uid]
}

// Mark is the number of the newest observation that has begun.
func (c *Cache) Mark() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.begun
}

// Observed is the number of the newest observation of a pod.
func (c *Cache) Observed(uid types.UID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.numbers[uid]
}

// NewerThan observes the pod. An observation always begins now, and so always
// has a number above the mark.
func (c *Cache) NewerThan(ctx context.Context, uid types.UID, _ uint64) (*runtime.PodStatus, error) {
	number, err := c.observe(ctx, uid)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mu.errs[uid]; err != nil {
		return nil, err
	}
	c.mu.numbers[uid] = max(c.mu.numbers[uid], number)
	return c.statusLocked(uid), nil
}

// observe waits as long as an observation takes.
func (c *Cache) observe(ctx context.Context, uid types.UID) (number uint64, err error) {
	c.mu.Lock()
	c.mu.begun++
	number = c.mu.begun
	t, takes, hung := c.mu.executor, c.mu.takes, c.mu.hung[uid]
	c.mu.Unlock()
	if hung != nil {
		err = hung.Wait(ctx)
	}
	if err == nil && takes > 0 {
		err = t.Sleep(ctx, takes)
	}
	return number, err
}

func (c *Cache) statusLocked(uid types.UID) *runtime.PodStatus {
	if s := c.mu.statuses[uid]; s != nil {
		return s
	}
	return &runtime.PodStatus{UID: uid}
}
