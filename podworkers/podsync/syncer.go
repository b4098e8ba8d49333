package podsync

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// Syncer is the reference podworkers.PodSyncer. Its methods may be called
// concurrently for different pods; for one pod podworkers calls one at a time.
type Syncer struct {
	cfg       Config
	guard     *contain.Guard
	node      request.Node
	executor  executor.Executor
	images    *images.Manager
	statuses  StatusReader
	delayed   DelayedContainerStates // nil: Config.ContainerStates is none
	refresher *refresher
	hooks     hookWaits
	// askRuntime and volumeProblems are the functions in Features, made once.
	askRuntime     func() runtime.Features
	volumeProblems func(*v1.Pod) []Problem

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
	discards, _ := cfg.Volumes.(DiscardGuard)
	s.delayed, _ = cfg.ContainerStates.(DelayedContainerStates)
	cfg.contain(g)
	s.cfg = cfg
	if discards != nil {
		discards.GuardDiscards(s.knowsContainers)
	}
	s.refresher = newRefresher(&s.cfg, s.executor)
	s.statuses, _ = cfg.Status.(StatusReader)
	s.askRuntime = s.runtimeFeatures
	if s.cfg.Volumes != nil {
		s.volumeProblems = s.cfg.Volumes.Problems
	}
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

// runtimeFeatures returns what the runtime can do now, beyond the roles of runtime.Runtime.
func (s *Syncer) runtimeFeatures() runtime.Features { return runtime.FeaturesOf(s.cfg.Runtime) }

// callWithTimeout makes a call that ends with ctx and after a time.
func (s *Syncer) callWithTimeout(ctx context.Context, within time.Duration, call func(context.Context) error) error {
	ctx, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(within))
	defer cancel()
	return call(ctx)
}

// inspectPod asks the runtime for the status of a pod. The status is not nil if the error is.
func (s *Syncer) inspectPod(ctx context.Context, uid types.UID) (status *runtime.PodStatus, err error) {
	err = s.callWithTimeout(ctx, s.cfg.CallTimeout, func(ctx context.Context) error {
		status, err = s.cfg.Runtime.PodStatus(ctx, uid)
		return err
	})
	if err == nil && status == nil {
		status = &runtime.PodStatus{UID: uid}
	}
	return status, err
}
