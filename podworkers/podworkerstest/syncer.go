package podworkerstest

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// Reply is the behaviour of one call of a Syncer. The zero Reply succeeds at once.
type Reply struct {
	// Do, if not nil, is called first. It can inspect the call, or call the workers.
	Do func(ctx context.Context, call Call)
	// Takes is how long the call takes. If its context ends first, the call returns the context's
	// error at once.
	Takes time.Duration
	// Blocks makes the call wait until its context ends.
	Blocks bool
	// IgnoresContext makes the call ignore the end of its context. With Takes it waits for the
	// whole time, with Blocks until Syncer.Release.
	IgnoresContext bool
	// Panic, if not nil, is the value with which the call panics.
	Panic any
	// Ends makes SyncPod report that the pod has completed.
	Ends bool
	// Err is the error that the call returns.
	Err error
}

// Call is one call of a PodSyncer.
type Call struct {
	UID           types.UID
	Incarnation   uint64
	Method        lifecycle.Kind
	Type          podworkers.SyncPodType   // SyncPod only
	Pod           *v1.Pod                  // nil for SyncTerminatingRuntimePod
	Mirror        *v1.Pod                  // SyncPod only
	Running       *runtime.Pod             // SyncTerminatingRuntimePod only
	Status        *runtime.PodStatus       // nil for SyncTerminatingRuntimePod
	Grace         *int64                   // SyncTerminatingPod only
	PodStatusFunc podworkers.PodStatusFunc // SyncTerminatingPod only
}

// Syncer is a podworkers.PodSyncer that follows scripts. It is safe for concurrent use.
type Syncer struct {
	mu struct {
		sync.Mutex
		executor executor.Executor
		scripts  map[scriptKey][]Reply
		released executor.Latch
	}
}

// scriptKey selects the calls of a script. An empty UID selects every pod, a zero method every
// method.
type scriptKey struct {
	uid    types.UID
	method lifecycle.Kind
}

var _ podworkers.PodSyncer = (*Syncer)(nil)

// NewSyncer returns a Syncer whose calls succeed at once. A nil clock is the real one.
func NewSyncer(clk clock.Clock) *Syncer {
	s := &Syncer{}
	s.mu.scripts = map[scriptKey][]Reply{}
	s.setClockAndBlockCalls(clk)
	return s
}

// setClockAndBlockCalls makes the syncer use another clock. Replies that block and ignore their context block
// again until the next Release. After a simulated crash it is the clock of the new simulated process.
func (s *Syncer) setClockAndBlockCalls(clk clock.Clock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.executor = executor.Over(clk)
	s.mu.released = s.mu.executor.NewLatch()
}

// Script sets the replies for the next calls of a method for a pod, in order. The last reply
// repeats. A new script replaces the old one. An empty UID selects every pod and a zero method
// every method; a more specific script has precedence.
func (s *Syncer) Script(uid types.UID, method lifecycle.Kind, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.scripts[scriptKey{uid, method}] = replies
}

// Release ends the wait of all calls with Blocks and IgnoresContext, also of later ones.
func (s *Syncer) Release() {
	s.mu.Lock()
	released := s.mu.released
	s.mu.Unlock()
	released.Open()
}

// SyncPod implements podworkers.PodSyncer.
func (s *Syncer) SyncPod(ctx context.Context, t podworkers.SyncPodType, pod, mirror *v1.Pod, status *runtime.PodStatus) (bool, error) {
	return s.runScriptedCall(ctx, Call{UID: pod.UID, Method: lifecycle.SyncPod, Type: t, Pod: pod, Mirror: mirror, Status: status})
}

// SyncTerminatingPod implements podworkers.PodSyncer.
func (s *Syncer) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus, grace *int64, statusFunc podworkers.PodStatusFunc) error {
	_, err := s.runScriptedCall(ctx, Call{UID: pod.UID, Method: lifecycle.SyncTerminatingPod, Pod: pod, Status: status, Grace: grace, PodStatusFunc: statusFunc})
	return err
}

// SyncTerminatingRuntimePod implements podworkers.PodSyncer.
func (s *Syncer) SyncTerminatingRuntimePod(ctx context.Context, running *runtime.Pod) error {
	_, err := s.runScriptedCall(ctx, Call{UID: running.UID, Method: lifecycle.SyncTerminatingRuntimePod, Running: running})
	return err
}

// SyncTerminatedPod implements podworkers.PodSyncer.
func (s *Syncer) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) error {
	_, err := s.runScriptedCall(ctx, Call{UID: pod.UID, Method: lifecycle.SyncTerminatedPod, Pod: pod, Status: status})
	return err
}

// runScriptedCall executes the next scripted reply for a call of the syncer: it calls Reply.Do, waits, and then
// panics or returns the result of the reply.
func (s *Syncer) runScriptedCall(ctx context.Context, call Call) (ends bool, err error) {
	call.Incarnation = podworkers.IncarnationFrom(ctx)
	r := s.popNextReply(call.UID, call.Method)
	if r.Do != nil {
		r.Do(ctx, call)
	}
	if err := s.waitBeforeReply(ctx, r); err != nil {
		return false, err
	}
	if r.Panic != nil {
		panic(r.Panic)
	}
	return r.Ends, r.Err
}

// popNextReply returns the first reply of the script for the pod and method, and removes it unless it is the
// last one. A script for the pod and method has precedence over one for the pod, for the method, and for all
// calls, in this order. Without a script it returns an empty Reply.
func (s *Syncer) popNextReply(uid types.UID, method lifecycle.Kind) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []scriptKey{{uid, method}, {uid, 0}, {"", method}, {"", 0}} {
		replies := s.mu.scripts[key]
		if len(replies) > 1 {
			s.mu.scripts[key] = replies[1:]
		}
		if len(replies) > 0 {
			return replies[0]
		}
	}
	return Reply{}
}

// waitBeforeReply waits for Reply.Takes. With Reply.Blocks it waits until ctx is done; a reply that ignores its
// context waits until the syncer releases its calls. It returns an error if ctx is done, unless the reply
// ignores its context.
func (s *Syncer) waitBeforeReply(ctx context.Context, r Reply) error {
	s.mu.Lock()
	t, released := s.mu.executor, s.mu.released
	s.mu.Unlock()
	if r.IgnoresContext {
		ctx = executor.Detach(ctx)
	}
	switch {
	case r.Blocks && r.IgnoresContext:
		return released.Wait(ctx)
	case r.Blocks:
		return t.NewLatch().Wait(ctx)
	case r.Takes > 0:
		return t.Sleep(ctx, r.Takes)
	}
	return nil
}
