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

// Cache is a status cache that observes on every call: each NewerThan makes an observation of its
// own, with a new number. It shows the status of the last Set, and an empty status for all other
// pods. All methods are safe for concurrent use.
type Cache struct {
	mu struct {
		sync.Mutex
		executor executor.Executor
		latency  time.Duration
		begun    uint64 // number of observations that have begun
		statuses map[types.UID]*runtime.PodStatus
		errs     map[types.UID]error
		numbers  map[types.UID]uint64         // newest observation of each pod
		blocked  map[types.UID]executor.Latch // opened by Resume
	}
}

// NewCache returns a cache whose observations take no time. A nil clock is the real one.
func NewCache(clk clock.Clock) *Cache {
	c := &Cache{}
	c.mu.statuses = map[types.UID]*runtime.PodStatus{}
	c.mu.errs = map[types.UID]error{}
	c.mu.numbers = map[types.UID]uint64{}
	c.mu.blocked = map[types.UID]executor.Latch{}
	c.setClock(clk)
	return c
}

// setClock makes the cache use another clock. After a simulated crash it is the clock of the new simulated
// process.
func (c *Cache) setClock(clk clock.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.executor = executor.Over(clk)
}

// SetLatency sets how long each further observation takes.
func (c *Cache) SetLatency(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.latency = d
}

// Set sets the status that further observations show.
func (c *Cache) Set(status *runtime.PodStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.statuses[status.UID] = status
}

// Fail makes observations of a pod return err. A nil err ends that.
func (c *Cache) Fail(uid types.UID, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.errs[uid] = err
}

// Hang makes observations of a pod wait until Resume or the end of their context.
func (c *Cache) Hang(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.blocked[uid] == nil {
		c.mu.blocked[uid] = c.mu.executor.NewLatch()
	}
}

// Resume ends a Hang.
func (c *Cache) Resume(uid types.UID) {
	c.mu.Lock()
	blocked := c.mu.blocked[uid]
	delete(c.mu.blocked, uid)
	c.mu.Unlock()
	if blocked != nil {
		blocked.Open()
	}
}

// Get returns the status of the last Set and the error of the last Fail. It makes no observation.
func (c *Cache) Get(uid types.UID) (*runtime.PodStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statusLocked(uid), c.mu.errs[uid]
}

// Mark returns the number of the newest observation that has begun.
func (c *Cache) Mark() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.begun
}

// Observed returns the number of the newest observation of a pod.
func (c *Cache) Observed(uid types.UID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.numbers[uid]
}

// NewerThan observes the pod. The observation begins now, so its number is always higher than any
// mark.
func (c *Cache) NewerThan(ctx context.Context, uid types.UID, _ uint64) (*runtime.PodStatus, error) {
	number, err := c.numberObservationAndWait(ctx, uid)
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

// numberObservationAndWait gives an observation the next number. It then waits until observations of the pod
// are not blocked, and for the cache's latency. It returns an error if ctx is done before, also with the
// number.
func (c *Cache) numberObservationAndWait(ctx context.Context, uid types.UID) (number uint64, err error) {
	c.mu.Lock()
	c.mu.begun++
	number = c.mu.begun
	t, latency, blocked := c.mu.executor, c.mu.latency, c.mu.blocked[uid]
	c.mu.Unlock()
	if blocked != nil {
		err = blocked.Wait(ctx)
	}
	if err == nil && latency > 0 {
		err = t.Sleep(ctx, latency)
	}
	return number, err
}

// statusLocked returns the status that Set stored last for the pod, without a copy. If there is none, it
// returns an empty status with the UID.
func (c *Cache) statusLocked(uid types.UID) *runtime.PodStatus {
	if s := c.mu.statuses[uid]; s != nil {
		return s
	}
	return &runtime.PodStatus{UID: uid}
}
