package podsync

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// Syncer is the reference podworkers.PodSyncer. Its methods may be called
// concurrently for different pods; for one pod podworkers calls one at a time.
type Syncer struct {
	cfg           Config
	guard         *contain.Guard
	node          request.Node
	executor      executor.Executor
	images        *images.Manager
	reporter      runtime.StatusReporter // nil: the runtime is not one, and so on
	execer        runtime.Execer
	handlerRunner runtime.HandlerRunner
	logs          runtime.LogReader
	features      runtime.FeatureReporter
	statuses      StatusReader
	delayed       DelayedContainerStates // nil: Config.ContainerStates is none
	refresher     *refresher
	hooks         hookWaits

	mu struct {
		sync.Mutex
		lives map[types.UID]*incarnation
	}
}

var _ podworkers.PodSyncer = (*Syncer)(nil)

// New makes a Syncer. It starts nothing and has nothing to stop.
func New(cfg Config) (*Syncer, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	g := cfg.guard()
	s := &Syncer{guard: g, executor: executor.Over(cfg.Clock), node: cfg.node()}
	s.reporter = contain.Feature[runtime.StatusReporter](g, cfg.Runtime)
	s.execer = contain.Feature[runtime.Execer](g, cfg.Runtime)
	s.handlerRunner = contain.Feature[runtime.HandlerRunner](g, cfg.Runtime)
	s.features = contain.Feature[runtime.FeatureReporter](g, cfg.Runtime)
	s.logs = contain.Feature[runtime.LogReader](g, cfg.Runtime)
	discards, _ := cfg.Volumes.(DiscardGuard)
	s.delayed, _ = cfg.ContainerStates.(DelayedContainerStates)
	cfg.contain(g)
	s.cfg = cfg
	if discards != nil {
		discards.GuardDiscards(s.knowsContainers)
	}
	s.refresher = newRefresher(&s.cfg, s.executor)
	s.statuses, _ = cfg.Status.(StatusReader)
	s.mu.lives = make(map[types.UID]*incarnation)
	if s.images = cfg.Images; s.images == nil {
		var err error
		s.images, err = images.New(images.Config{Images: cfg.Runtime, PullTimeout: cfg.PullTimeout, CallTimeout: cfg.CallTimeout, Clock: cfg.Clock, Log: cfg.Log})
		if err != nil {
			return nil, fmt.Errorf("podsync: %w", err)
		}
	}
	return s, nil
}

// syncPass is one call for one pod.
type syncPass struct {
	pod         *v1.Pod
	incarnation *incarnation
	status      *runtime.PodStatus // what the runtime showed when it was decided what to do; never nil
	after       *runtime.PodStatus // what it showed after a kill
	decided     time.Time          // when it was
	ending      bool               // the pod is being ended, or has been
	// explained says that a container waits for another reason than published.
	explained bool
	storeErr  error       // a panic of Config.Status: the call fails
	starting  []plan.Step // containers that are being started
	// volumeImages are the images of the pod's image volumes. They are set once a container is about
	// to be started.
	volumeImages map[string]volumeImage
	pulls        pulls
	touched      atomic.Bool // a call was sent that may have changed the pod's records
}

// sync pass begins a call. status may be nil.
func (s *Syncer) syncPass(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) *syncPass {
	if status == nil {
		status = &runtime.PodStatus{UID: pod.UID, Name: pod.Name, Namespace: pod.Namespace}
	}
	v := &syncPass{pod: pod, incarnation: s.live(pod, podworkers.IncarnationFrom(ctx), status), status: status}
	s.recall(v)
	return v
}

// ref names the pod to the runtime.
func (v *syncPass) ref() runtime.PodRef {
	return runtime.PodRef{UID: v.pod.UID, Name: v.pod.Name, Namespace: v.pod.Namespace, Incarnation: v.incarnation.number}
}

// ask bounds a call of the runtime that may be given up at any time.
func (s *Syncer) ask(ctx context.Context, within time.Duration, call func(context.Context) error) error {
	ctx, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(within))
	defer cancel()
	return call(ctx)
}

// commit bounds a call of the runtime that, once sent, must not be given up
// for a cancelled sync: half-done it would have to be looked for, and some
// runtimes turn a cancelled start into a container that failed.
func (s *Syncer) commit(ctx context.Context, v *syncPass, call func(context.Context) error) error {
	v.touched.Store(true)
	return s.ask(executor.Detach(ctx), s.cfg.CallTimeout, call)
}

// look asks the runtime for the pod as it is now.
func (s *Syncer) look(ctx context.Context, uid types.UID) (status *runtime.PodStatus, err error) {
	err = s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error {
		status, err = s.cfg.Runtime.PodStatus(ctx, uid)
		return err
	})
	if err == nil && status == nil {
		status = &runtime.PodStatus{UID: uid}
	}
	return status, err
}
