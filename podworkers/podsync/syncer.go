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

// Syncer is the reference podworkers.PodSyncer. Its methods may be called concurrently for different
// pods. For one pod, podworkers makes one call at a time.
type Syncer struct {
	cfg          Config
	guard        *contain.Guard
	node         request.Node
	executor     executor.Executor
	images       *images.Manager
	statuses     StatusReader
	delayedSaver DelayedContainerStates // nil: Config.ContainerStates is none
	oomReader    OOMReader              // nil: Config.Cgroups is none
	valuesReader PodValuesReader        // nil: Config.Cgroups is none
	refresher    *fileRefresher
	hooks        hookWaits
	// runtimeFeaturesFunc and volumeProblemsFunc are the functions in Features. New makes them once.
	runtimeFeaturesFunc func() runtime.Features
	volumeProblemsFunc  func(*v1.Pod) []Problem

	mu struct {
		sync.Mutex
		incarnations map[types.UID]*incarnation
	}
}

var _ podworkers.PodSyncer = (*Syncer)(nil)

// New returns a Syncer. It starts nothing, and a Syncer has nothing to stop.
func New(cfg Config) (*Syncer, error) {
	if err := cfg.setDefaultsAndValidate(); err != nil {
		return nil, err
	}
	g := cfg.newGuard()
	s := &Syncer{guard: g, executor: executor.Over(cfg.Clock), node: cfg.nodeForRequests()}
	discards, _ := cfg.Volumes.(DiscardGuard)
	s.delayedSaver, _ = cfg.ContainerStates.(DelayedContainerStates)
	s.oomReader, _ = cfg.Cgroups.(OOMReader)
	s.valuesReader, _ = cfg.Cgroups.(PodValuesReader)
	cfg.wrapForPanics(g)
	s.cfg = cfg
	if discards != nil {
		discards.GuardDiscards(s.hasContainerRecords)
	}
	s.refresher = newFileRefresher(&s.cfg, s.executor)
	s.statuses, _ = cfg.Status.(StatusReader)
	s.runtimeFeaturesFunc = s.runtimeFeatures
	if s.cfg.Volumes != nil {
		s.volumeProblemsFunc = s.cfg.Volumes.Problems
	}
	s.mu.incarnations = make(map[types.UID]*incarnation)
	if s.images = cfg.Images; s.images == nil {
		var err error
		s.images, err = images.New(images.Config{Images: cfg.Runtime, PullTimeout: cfg.PullTimeout, CallTimeout: cfg.CallTimeout, Clock: cfg.Clock, Log: cfg.Log})
		if err != nil {
			return nil, fmt.Errorf("podsync: %w", err)
		}
	}
	return s, nil
}

// runtimeFeatures returns the optional features that the runtime supports at present.
func (s *Syncer) runtimeFeatures() runtime.Features { return runtime.FeaturesOf(s.cfg.Runtime) }

// callWithTimeout calls call with a context that ends with ctx or after the timeout. It returns the error of
// call.
func (s *Syncer) callWithTimeout(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	ctx, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(timeout))
	defer cancel()
	return call(ctx)
}

// inspectPod returns the status of a pod from the runtime, within Config.CallTimeout. If the runtime returns
// neither a status nor an error, the result is an empty status with the UID.
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
