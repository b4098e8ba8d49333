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

// Rules are the invariants that hold for every trace, for any updates and any behaviour of the
// syncer:
//
//   - Two calls for one UID never overlap.
//   - No SyncPod starts after a termination was requested.
//   - Phases only move forward, and each is entered once.
//   - SyncTerminatedPod follows a termination that succeeded, or a pod that never started.
//   - No pod becomes terminated while one of its containers may run.
//   - The grace period never grows and is never below one second.
//   - The last content is the last one synced (with Until).
//   - SyncPod gets versions in order.
//   - Of the static pods with one full name at most one may run.
//   - A new incarnation starts after the old one has finished.
//   - A pod that only the runtime knows is never synced.
//   - A retry comes (with Until), and not before its time.
//   - After a success no call is made before the resync, unless there is an update.
type Rules struct {
	// Retry is the policy of the workers.
	Retry backoff.Retry
	// Until is the time at which the trace was taken, if no call was blocked or waiting for a slot
	// or an observation. Zero skips the rules that can only be checked at the end.
	Until time.Duration
}

// Check returns an error that names every event of a trace that violates a rule.
func (r Rules) Check(events []Event) error {
	c := checker{rules: r, pods: map[types.UID]*history{}}
	for i, e := range events {
		c.line = i
		c.checkEventAndUpdateHistory(e)
	}
	if r.Until > 0 {
		c.checkHistoriesAtEnd()
	}
	return errors.Join(c.errs...)
}

// checker checks the events of a trace one after another.
type checker struct {
	rules Rules
	line  int
	pods  map[types.UID]*history
	order []types.UID
	errs  []error
}

// history is the state of a UID since it was last forgotten, as the trace shows it.
type history struct {
	incarnationHistory
	lastVersion    int64 // version of the last update
	lastUpdateType podworkers.SyncPodType
	hasConfig      bool // a source has delivered the pod
	fullName       string
	callRunning    bool // a call has begun and not returned
	// newUpdates counts the updates since the last call returned, or, while a call runs, since it
	// began. The next call has the content of all updates from before the end of the last call. A
	// later update may have been too late for its content.
	newUpdates int
	// mayOweCall: an update from before the end of the last call may not have been part of it. The
	// next call may be made for that update.
	mayOweCall     bool
	mayCallAnyTime bool // the next call may begin at any time
	earliest       time.Duration
	latest         time.Duration // zero: no retry is due
}

// incarnationHistory is the state of one incarnation, as the trace shows it.
type incarnationHistory struct {
	incarnation uint64
	phase       lifecycle.Phase
	begun       bool // a call has begun
	mayRun      bool // a SyncPod has begun, and no termination has succeeded since
	stopped     bool
	runtimeOnly bool // terminated as a pod that only the runtime knew
	grace       int64
	synced      int64 // version of the last SyncPod
}

// addError adds an error which says that an event violates a rule. It begins with the rule, the line and the
// description of the event.
func (c *checker) addError(rule string, e Event, format string, args ...any) {
	err := fmt.Errorf("%s: line %d: %s %s: %s: %s", rule, c.line, e.At, podColumn(e), e.describe(), fmt.Sprintf(format, args...))
	c.errs = append(c.errs, err)
}

// getOrCreateHistory returns what the checker knows of a UID (its history). For a new UID it creates an empty
// history and appends the UID to the order.
func (c *checker) getOrCreateHistory(uid types.UID) *history {
	if c.pods[uid] == nil {
		c.pods[uid] = &history{}
		c.order = append(c.order, uid)
	}
	return c.pods[uid]
}

// checkEventAndUpdateHistory checks one event against the rules and updates the history of its pod.
// Housekeeping updates every history, and a crash deletes all of them.
func (c *checker) checkEventAndUpdateHistory(e Event) {
	switch e.What {
	case Updated:
		c.storeUpdateInHistory(e)
	case Begun:
		c.checkAndRecordCallBegin(e)
	case Ended:
		c.recordCallEnd(e)
	case Entered:
		c.checkAndRecordPhase(e)
	case Housekeeping:
		for _, h := range c.pods {
			h.mayCallAnyTime = true
			h.newUpdates++
		}
	case Forgotten:
		if c.getOrCreateHistory(e.UID).callRunning {
			c.addError("I21", e, "a call is still running")
		}
		c.pods[e.UID] = &history{}
	case Crashed:
		c.pods, c.order = map[types.UID]*history{}, nil
	}
}

// storeUpdateInHistory stores in the pod's history that the pod got an update. After an update the worker's
// next call for the pod may begin at once, before the end of a backoff. It also stores the version, type and
// full name of the update, unless the update is of a pod that only the runtime shows. It keeps the stored full
// name if the update has none.
func (c *checker) storeUpdateInHistory(e Event) {
	h := c.getOrCreateHistory(e.UID)
	h.mayCallAnyTime = true
	h.newUpdates++
	if e.Running {
		return
	}
	h.hasConfig = true
	h.lastVersion, h.lastUpdateType = e.Version, e.Type
	if e.FullName != "" {
		h.fullName = e.FullName
	}
}

// checkAndStoreIncarnationIfOther compares the incarnation number of an event with the one in the history (a
// pod that is re-created under its UID gets the next number). If the number is another one, it clears what the
// history has about the earlier incarnation. It adds an error if the number is lower, or if the old pod had a
// worker and has not finished.
func (c *checker) checkAndStoreIncarnationIfOther(h *history, e Event) {
	switch {
	case e.Incarnation == h.incarnation:
		return
	case e.Incarnation < h.incarnation:
		c.addError("I13", e, "incarnation %d has already begun", h.incarnation)
	case h.incarnation != 0 && h.phase != lifecycle.Finished && !h.runtimeOnly:
		c.addError("I13", e, "incarnation %d is still %s", h.incarnation, h.phase)
	}
	h.incarnationHistory = incarnationHistory{incarnation: e.Incarnation}
}

// checkAndRecordCallBegin adds an error for each rule that forbids this call of the syncer to begin now, and
// stores in the history that it runs.
func (c *checker) checkAndRecordCallBegin(e Event) {
	h := c.getOrCreateHistory(e.UID)
	c.checkAndStoreIncarnationIfOther(h, e)
	if h.callRunning {
		c.addError("I1", e, "another call is running")
	}
	if !h.mayCallAnyTime && e.At < h.earliest {
		c.addError("I17", e, "not before %s", h.earliest)
	}
	h.callRunning, h.begun, h.latest = true, true, 0
	h.mayCallAnyTime = !h.callHasAllUpdates(e)
	h.mayOweCall, h.newUpdates = h.mayCallAnyTime, 0
	if !h.hasConfig && e.Method != lifecycle.SyncTerminatingRuntimePod {
		c.addError("I14", e, "no source has delivered this pod")
	}
	switch e.Method {
	case lifecycle.SyncPod:
		c.checkPhaseVersionNameAndRecordSyncBegin(h, e)
	case lifecycle.SyncTerminatingPod:
		c.checkAndRecordTerminatingBegin(h, e)
	case lifecycle.SyncTerminatedPod:
		if !h.stopped && (h.mayRun || h.phase != lifecycle.Terminated) {
			c.addError("I4", e, "it was not stopped")
		}
	}
}

// callHasAllUpdates reports whether the worker's call certainly has the content of all updates. An update that
// arrived while the call waited for a status or a slot may have been too late. If there was exactly one update
// and the call has its type and version, the update was in time.
func (h *history) callHasAllUpdates(e Event) bool {
	if h.newUpdates == 1 && !h.mayOweCall {
		return e.Method == lifecycle.SyncPod && e.Type == h.lastUpdateType && e.Version == h.lastVersion
	}
	return h.newUpdates == 0
}

// checkPhaseVersionNameAndRecordSyncBegin adds an error if SyncPod may not begin: the phase is not Syncing, a
// later version was synced before, or another pod with the full name may run. It stores the version, and that
// containers of the pod may run, in the history.
func (c *checker) checkPhaseVersionNameAndRecordSyncBegin(h *history, e Event) {
	if h.phase != lifecycle.Syncing {
		c.addError("I2", e, "the pod is %s", h.phase)
	}
	if e.Version < h.synced {
		c.addError("I10", e, "version %d was synced before", h.synced)
	}
	h.synced, h.mayRun = e.Version, true
	for _, uid := range c.order {
		if o := c.pods[uid]; o != h && h.fullName != "" && o.fullName == h.fullName && o.mayRun {
			c.addError("I11", e, "%s with the same full name may run", uid)
		}
	}
}

// checkAndRecordTerminatingBegin adds an error if SyncTerminatingPod begins in another phase than Terminating,
// or with a grace period that is below one second or longer than the one before. It stores the grace period in
// the history.
func (c *checker) checkAndRecordTerminatingBegin(h *history, e Event) {
	if h.phase != lifecycle.Terminating {
		c.addError("I3", e, "the pod is %s", h.phase)
	}
	if !e.Grace.Set {
		return
	}
	if e.Grace.Seconds < 1 || h.grace != 0 && e.Grace.Seconds > h.grace {
		c.addError("I6", e, "the grace was %ds", h.grace)
	}
	h.grace = e.Grace.Seconds
}

// recordCallEnd stores the result of a call in the history, and computes when the next call may begin. It
// checks nothing. It ignores a call of a simulated process that has crashed.
func (c *checker) recordCallEnd(e Event) {
	h := c.getOrCreateHistory(e.UID)
	if !h.callRunning {
		return // The process has crashed since.
	}
	h.callRunning = false
	h.mayOweCall, h.newUpdates = h.mayOweCall || h.newUpdates > 0, 0
	if e.Err == nil && (e.Method == lifecycle.SyncTerminatingPod || e.Method == lifecycle.SyncTerminatingRuntimePod) {
		h.stopped, h.mayRun = true, false
		h.runtimeOnly = e.Method == lifecycle.SyncTerminatingRuntimePod
		h.mayCallAnyTime = true
	}
	if e.Ends {
		h.mayCallAnyTime = true
	}
	if h.mayCallAnyTime {
		return
	}
	h.earliest, h.latest = e.At+c.retryDelayBound(e, 0), e.At+c.retryDelayBound(e, 1)
}

// retryDelayBound returns a bound of the delay between this call and a next call that no update causes. The
// bound is the shortest possible delay if random is 0, and the longest if random is 1.
func (c *checker) retryDelayBound(e Event, random float64) time.Duration {
	var class backoff.Class
	_, asked := contain.AsType[interface{ RetryAt() time.Time }](e.Err)
	switch {
	case e.Err == nil:
		class = backoff.Resync
	case errors.Is(e.Err, runtime.ErrNetworkNotReady):
		class = backoff.Transient
	case asked && random == 0:
		return 0 // The error may name any time.
	case random == 0 && errors.Is(e.Err, runtime.ErrNotReady):
		return 0 // The runtime may answer at any time.
	case random == 0 && errors.Is(e.Err, runtime.ErrExists):
		class = backoff.Transient
	case random > 0:
		class = backoff.Resync // No delay is longer than the resync.
	default:
		class = backoff.Failed
	}
	return c.rules.Retry.Delay(class, time.Time{}, time.Time{}, random)
}

// checkAndRecordPhase adds an error if a phase does not come after the phase before, or if a pod becomes
// terminated while it may run. It stores the new phase in the history.
func (c *checker) checkAndRecordPhase(e Event) {
	h := c.getOrCreateHistory(e.UID)
	c.checkAndStoreIncarnationIfOther(h, e)
	if e.Phase <= h.phase {
		c.addError("I3", e, "it was %s before", h.phase)
	}
	h.phase, h.mayCallAnyTime = e.Phase, true
	if e.Phase == lifecycle.Terminated && h.mayRun {
		c.addError("I5", e, "it was not stopped")
	}
	if e.Phase == lifecycle.Finished {
		h.mayRun, h.latest = false, 0
	}
}

// checkHistoriesAtEnd checks the history of each pod at the time Rules.Until. It adds an error for a pod whose
// last version was not synced, for a pod whose retry was due and not made, and for a pod whose call still runs.
func (c *checker) checkHistoriesAtEnd() {
	for _, uid := range slices.Clone(c.order) {
		h := c.pods[uid]
		last := Event{At: c.rules.Until, UID: uid, Incarnation: h.incarnation}
		syncing := h.begun && h.phase == lifecycle.Syncing
		if syncing && h.lastUpdateType != podworkers.SyncPodKill && h.synced != h.lastVersion {
			c.addError("I8", last, "the last update has version %d, the last SyncPod %d", h.lastVersion, h.synced)
		}
		if h.latest != 0 && h.latest < c.rules.Until {
			c.addError("I17", last, "a retry was due at %s", h.latest)
		}
		if h.callRunning {
			c.addError("I19", last, "a call is still running")
		}
	}
}
