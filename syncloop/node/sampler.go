package node

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/usage"
)

const (
	// statsPeriod is the least time between two samples of a pod, as the kubelet has it:
	// a rate over less would mean little, and many readers cost no more than one.
	statsPeriod = 10 * time.Second
	// statsTimeout bounds a sample of one pod.
	statsTimeout = 10 * time.Second
	// maxSamples is how many pods are sampled at once.
	maxSamples = 8
)

// sampler is the one owner of the samples of pods. It samples a pod when somebody
// asks for its figures, if the last sample is older than statsPeriod.
type sampler struct {
	startedAt time.Time // when the node was made
	mu        struct {
		sync.Mutex
		samples usage.Samples
		last    map[types.UID]*podSample
	}
}

// podSample is the last sample of a pod. It is replaced, never changed.
type podSample struct {
	at    time.Time
	stats runtime.PodStats
	err   error
	// abandoned: the caller who took it gave up, which says nothing about the pod.
	abandoned bool
	done      executor.Latch // open: the rest is there
}

func newSampler(now time.Time) *sampler {
	s := &sampler{startedAt: now}
	s.mu.last = make(map[types.UID]*podSample)
	return s
}

// getSample is a sample of a pod that is not older than statsPeriod. Of several callers at once one
// takes it, and the others wait for that. If its context ends, the next caller takes one.
func (s *sampler) getSample(ctx context.Context, e executor.Executor, reader runtime.StatsReader, uid types.UID) (runtime.PodStats, error) {
	for {
		sample, claimed := s.claim(e, uid)
		if claimed {
			s.takeSample(ctx, e, reader, uid, sample)
			return sample.stats, sample.err
		}
		if err := sample.done.Wait(ctx); err != nil {
			return runtime.PodStats{}, err
		}
		if !sample.abandoned {
			return sample.stats, sample.err
		}
	}
}

// claim returns the sample that is good enough, or one that the caller has to take.
func (s *sampler) claim(e executor.Executor, uid types.UID) (sample *podSample, claimed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sample = s.mu.last[uid]
	if sample != nil && (!sample.done.Opened() || sample.err == nil && e.Now().Sub(sample.at) < statsPeriod) {
		return sample, false
	}
	sample = &podSample{done: e.NewLatch()}
	s.mu.last[uid] = sample
	return sample, true
}

// takeSample asks the runtime.
func (s *sampler) takeSample(ctx context.Context, e executor.Executor, reader runtime.StatsReader, uid types.UID, sample *podSample) {
	defer sample.done.Open()
	bounded, cancel := e.WithDeadline(ctx, e.Now().Add(statsTimeout))
	defer cancel()
	sample.stats, sample.err = reader.PodStats(bounded, uid)
	sample.at = e.Now()
	if sample.err != nil {
		sample.abandoned = ctx.Err() != nil
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.samples.AddRates(uid, &sample.stats)
	usage.SumContainers(&sample.stats)
}

func (s *sampler) totalUsage() usage.Total {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.samples.Total()
}

func (s *sampler) forgetUnknownPods(isKnown func(types.UID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.samples.RemoveUnknown(isKnown)
	for uid, one := range s.mu.last {
		if !isKnown(uid) && one.done.Opened() {
			delete(s.mu.last, uid)
		}
	}
}
