package podworkerstest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// Rules are the invariants of every trace, whatever updates came and however the
// syncer behaved:
//
//   - Two calls for one UID never overlap.
//   - No SyncPod begins after a termination was requested.
//   - Phases only go forward, and each is entered once.
//   - SyncTerminatedPod follows a termination that succeeded, or a pod that never started.
//   - No pod is terminated while something of it may run.
//   - The grace period never grows and is never below one second.
//   - The last content is the last one synced (with Until).
//   - SyncPod sees versions in order.
//   - Of the static pods with one full name at most one may run.
//   - A new incarnation begins after the old one has ended.
//   - A pod that only the runtime knows is never synced.
//   - A retry comes (with Until), and not before its time.
//   - After a success nothing happens before the resync, unless there is an update.
type Rules struct {
	// Retry is the policy that the workers were given.
	Retry backoff.Retry
	// Until is when the trace was taken, if nothing was waiting then: no call
	// blocked, and none was waiting for a slot or for an observation. Zero
	// leaves the rules out that can only be judged at the end.
	Until time.Duration
}

// Check returns an error that names every line of a trace that breaks a rule.
func (r Rules) Check(events []Event) error {
	c := checker{rules: r, pods: map[types.UID]*history{}}
	for i, e := range events {
		c.line = i
		c.see(e)
	}
	if r.Until > 0 {
		c.finish()
	}
	return errors.Join(c.errs...)
}

// checker walks along a trace.
type checker struct {
	rules Rules
	line  int
	pods  map[types.UID]*history
	order []types.UID
	errs  []error
}

// history is what the trace has shown of a UID since it was last forgotten.
type history struct {
	life
	told     int64 // version of the last content
	toldType podworkers.SyncPodType
	config   bool // a source has spoken of it
	fullName string
	open     bool // a call has begun
	// news is how often something was told since the last call ended, or while it
	// runs. The next call has all that was told before the end of the last one;
	// what was told after that may have come when its content was settled already.
	news int
	// owing: something may have been told before the last call ended that was not
	// in it. The next call may be made for that.
	owing    bool
	free     bool // the next call may begin at any time
	earliest time.Duration
	latest   time.Duration // zero: no retry is due
}

// life is what the trace has shown of one incarnation.
type life struct {
	incarnation uint64
	phase       lifecycle.Phase
	begun       bool // some call
	mayRun      bool // a SyncPod has begun and no stop has succeeded since
	stopped     bool
	runtimeOnly bool // ended as a pod that only the runtime knew
	grace       int64
	synced      int64 // version of the last SyncPod
}

func (c *checker) fail(rule string, e Event, format string, args ...any) {
	err := fmt.Errorf("%s: line %d: %s %s: %s: %s", rule, c.line, e.At, podColumn(e), e.text(), fmt.Sprintf(format, args...))
	c.errs = append(c.errs, err)
}

func (c *checker) pod(uid types.UID) *history {
	if c.pods[uid] == nil {
		c.pods[uid] = &history{}
		c.order = append(c.order, uid)
	}
	return c.pods[uid]
}

func (c *checker) see(e Event) {
	switch e.What {
	case Updated:
		c.tell(e)
	case Begun:
		c.begin(e)
	case Ended:
		c.end(e)
	case Entered:
		c.enter(e)
	case Housekeeping:
		for _, h := range c.pods {
			h.free = true
			h.news++
		}
	case Forgotten:
		if c.pod(e.UID).open {
			c.fail("I21", e, "a call is still running")
		}
		c.pods[e.UID] = &history{}
	case Crashed:
		c.pods, c.order = map[types.UID]*history{}, nil
	}
}

func (c *checker) tell(e Event) {
	h := c.pod(e.UID)
	h.free = true
	h.news++
	if e.Running {
		return
	}
	h.config = true
	h.told, h.toldType = e.Version, e.Type
	if e.FullName != "" {
		h.fullName = e.FullName
	}
}

// live brings the history to the incarnation of an event.
func (c *checker) live(h *history, e Event) {
	switch {
	case e.Incarnation == h.incarnation:
		return
	case e.Incarnation < h.incarnation:
		c.fail("I13", e, "life %d has begun already", h.incarnation)
	case h.incarnation != 0 && h.phase != lifecycle.Finished && !h.runtimeOnly:
		c.fail("I13", e, "life %d is only %s", h.incarnation, h.phase)
	}
	h.life = life{incarnation: e.Incarnation}
}

func (c *checker) begin(e Event) {
	h := c.pod(e.UID)
	c.live(h, e)
	if h.open {
		c.fail("I1", e, "another call is running")
	}
	if !h.free && e.At < h.earliest {
		c.fail("I17", e, "not before %s", h.earliest)
	}
	h.open, h.begun, h.latest = true, true, 0
	h.free = !h.consumes(e)
	h.owing, h.news = h.free, 0
	if !h.config && e.Method != lifecycle.SyncTerminatingRuntimePod {
		c.fail("I14", e, "no source has spoken of this pod")
	}
	switch e.Method {
	case lifecycle.SyncPod:
		c.beginSync(h, e)
	case lifecycle.SyncTerminatingPod:
		c.beginTerminating(h, e)
	case lifecycle.SyncTerminatedPod:
		if !h.stopped && (h.mayRun || h.phase != lifecycle.Terminated) {
			c.fail("I4", e, "it was not stopped")
		}
	}
}

// consumes is true if all that was told is surely in the call. What came after
// the call's content was settled, while it waited for a status or a slot, will
// need another one. If the only news is what the call shows it was made for that,
// unless there was something else to make it for: content of the same version
// looks the same.
func (h *history) consumes(e Event) bool {
	if h.news == 1 && !h.owing {
		return e.Method == lifecycle.SyncPod && e.Type == h.toldType && e.Version == h.told
	}
	return h.news == 0
}

func (c *checker) beginSync(h *history, e Event) {
	if h.phase != lifecycle.Syncing {
		c.fail("I2", e, "the pod is %s", h.phase)
	}
	if e.Version < h.synced {
		c.fail("I10", e, "version %d was synced before", h.synced)
	}
	h.synced, h.mayRun = e.Version, true
	for _, uid := range c.order {
		if o := c.pods[uid]; o != h && h.fullName != "" && o.fullName == h.fullName && o.mayRun {
			c.fail("I11", e, "%s of the same full name may run", uid)
		}
	}
}

func (c *checker) beginTerminating(h *history, e Event) {
	if h.phase != lifecycle.Terminating {
		c.fail("I3", e, "the pod is %s", h.phase)
	}
	if !e.Grace.Set {
		return
	}
	if e.Grace.Seconds < 1 || h.grace != 0 && e.Grace.Seconds > h.grace {
		c.fail("I6", e, "the grace was %ds", h.grace)
	}
	h.grace = e.Grace.Seconds
}

func (c *checker) end(e Event) {
	h := c.pod(e.UID)
	if !h.open {
		return // It was crashed.
	}
	h.open = false
	h.owing, h.news = h.owing || h.news > 0, 0
	if e.Err == nil && (e.Method == lifecycle.SyncTerminatingPod || e.Method == lifecycle.SyncTerminatingRuntimePod) {
		h.stopped, h.mayRun = true, false
		h.runtimeOnly = e.Method == lifecycle.SyncTerminatingRuntimePod
		h.free = true
	}
	if e.Ends {
		h.free = true
	}
	if h.free {
		return
	}
	h.earliest, h.latest = e.At+c.delay(e, 0), e.At+c.delay(e, 1)
}

// delay is how long after a call the next one may come without news.
func (c *checker) delay(e Event, random float64) time.Duration {
	var class backoff.Class
	_, asked := contain.AsType[interface{ RetryAt() time.Time }](e.Err)
	switch {
	case e.Err == nil:
		class = backoff.Resync
	case errors.Is(e.Err, runtime.ErrNetworkNotReady):
		class = backoff.Transient
	case asked && random == 0:
		return 0 // It may name any time.
	case random == 0 && errors.Is(e.Err, runtime.ErrNotReady):
		return 0 // The runtime may answer at any time.
	case random == 0 && errors.Is(e.Err, runtime.ErrExists):
		class = backoff.Transient
	case random > 0:
		class = backoff.Resync // No policy lets a pod wait for longer.
	default:
		class = backoff.Failed
	}
	return c.rules.Retry.Delay(class, time.Time{}, time.Time{}, random)
}

func (c *checker) enter(e Event) {
	h := c.pod(e.UID)
	c.live(h, e)
	if e.Phase <= h.phase {
		c.fail("I3", e, "it was %s before", h.phase)
	}
	h.phase, h.free = e.Phase, true
	if e.Phase == lifecycle.Terminated && h.mayRun {
		c.fail("I5", e, "it was not stopped")
	}
	if e.Phase == lifecycle.Finished {
		h.mayRun, h.latest = false, 0
	}
}

// finish judges what must have happened by Until.
func (c *checker) finish() {
	for _, uid := range slices.Clone(c.order) {
		h := c.pods[uid]
		last := Event{At: c.rules.Until, UID: uid, Incarnation: h.incarnation}
		syncing := h.begun && h.phase == lifecycle.Syncing
		if syncing && h.toldType != podworkers.SyncPodKill && h.synced != h.told {
			c.fail("I8", last, "version %d was told and %d synced last", h.told, h.synced)
		}
		if h.latest != 0 && h.latest < c.rules.Until {
			c.fail("I17", last, "a retry was due at %s", h.latest)
		}
		if h.open {
			c.fail("I19", last, "a call is still running")
		}
	}
}
