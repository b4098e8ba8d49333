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

// Reply is how one call of a Syncer goes. The zero Reply is a success that
// takes no time.
type Reply struct {
	// Do, if not nil, is called first: to look at the call, or to call back
	// into the workers.
	Do func(ctx context.Context, call Call)
	// Takes is how long the call takes. If its context ends first it returns
	// the context's error at once.
	Takes time.Duration
	// Blocks makes the call wait for its context's end.
	Blocks bool
	// IgnoresContext makes the call ignore its context: with Takes it takes its time,
	// with Blocks it waits for Syncer.Release.
	IgnoresContext bool
	// Panic, if not nil, is what the call then panics with.
	Panic any
	// Ends says that the pod has come to its own end; SyncPod only.
	Ends bool
	// Err is what the call returns.
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

// Syncer is a podworkers.PodSyncer that does what scripts say. It is safe for
// concurrent use.
type Syncer struct {
	mu struct {
		sync.Mutex
		executor executor.Executor
		scripts  map[scriptKey][]Reply
		released executor.Latch
	}
}

// scriptKey: an empty UID is every pod, a zero method every method.
type scriptKey struct {
	uid    types.UID
	method lifecycle.Kind
}

var _ podworkers.PodSyncer = (*Syncer)(nil)

// NewSyncer makes a Syncer whose calls succeed at once. A nil clock is the real
// one.
func NewSyncer(clk clock.Clock) *Syncer {
	s := &Syncer{}
	s.mu.scripts = map[scriptKey][]Reply{}
	s.on(clk)
	return s
}

// on moves the syncer to a clock: that of a new process after a crash.
func (s *Syncer) on(clk clock.Clock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.executor = executor.Over(clk)
	s.mu.released = s.mu.executor.NewLatch()
}

// Script says how the next calls of a method go for a pod: the first by the
// first reply, and so on; the last one repeats. It replaces what was said
// before. An empty UID speaks of every pod and a zero method of every method,
// unless something more particular was said.
func (s *Syncer) Script(uid types.UID, method lifecycle.Kind, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.scripts[scriptKey{uid, method}] = replies
}

// Release lets all calls go on that are deaf and block, those to come too.
func (s *Syncer) Release() {
	s.mu.Lock()
	released := s.mu.released
	s.mu.Unlock()
	released.Open()
}

// SyncPod implements podworkers.PodSyncer.
func (s *Syncer) SyncPod(ctx context.Context, t podworkers.SyncPodType, pod, mirror *v1.Pod, status *runtime.PodStatus) (bool, error) {
	return s.reply(ctx, Call{UID: pod.UID, Method: lifecycle.SyncPod, Type: t, Pod: pod, Mirror: mirror, Status: status})
}

// SyncTerminatingPod implements podworkers.PodSyncer.
func (s *Syncer) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus, grace *int64, statusFunc podworkers.PodStatusFunc) error {
	_, err := s.reply(ctx, Call{UID: pod.UID, Method: lifecycle.SyncTerminatingPod, Pod: pod, Status: status, Grace: grace, PodStatusFunc: statusFunc})
	return err
}

// SyncTerminatingRuntimePod implements podworkers.PodSyncer.
func (s *Syncer) SyncTerminatingRuntimePod(ctx context.Context, running *runtime.Pod) error {
	_, err := s.reply(ctx, Call{UID: running.UID, Method: lifecycle.SyncTerminatingRuntimePod, Running: running})
	return err
}

// SyncTerminatedPod implements podworkers.PodSyncer.
func (s *Syncer) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) error {
	_, err := s.reply(ctx, Call{UID: pod.UID, Method: lifecycle.SyncTerminatedPod, Pod: pod, Status: status})
	return err
}

// reply plays one call.
func (s *Syncer) reply(ctx context.Context, call Call) (ends bool, err error) {
	call.Incarnation = podworkers.IncarnationFrom(ctx)
	r := s.next(call.UID, call.Method)
	if r.Do != nil {
		r.Do(ctx, call)
	}
	if err := s.wait(ctx, r); err != nil {
		return false, err
	}
	if r.Panic != nil {
		panic(r.Panic)
	}
	return r.Ends, r.Err
}

// next takes the reply whose turn it is.
func (s *Syncer) next(uid types.UID, method lifecycle.Kind) Reply {
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

func (s *Syncer) wait(ctx context.Context, r Reply) error {
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
