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
	// statsPeriod is the minimum time between two samples of a pod, as in the kubelet. Rates over a
	// shorter time are inaccurate, and many readers cost no more than one.
	statsPeriod = 10 * time.Second
	// statsTimeout limits the time to sample one pod.
	statsTimeout = 10 * time.Second
	// maxSamples limits how many pods are sampled at once.
	maxSamples = 8
)

// sampler has the samples of all pods. It samples a pod on request, if the last sample is older than
// statsPeriod.
type sampler struct {
	startedAt time.Time // time at which New made the node
	mu        struct {
		sync.Mutex
		samples usage.Samples
		last    map[types.UID]*podSample
	}
}

// podSample is the last sample of a pod. It is replaced, never modified.
type podSample struct {
	at    time.Time
	stats runtime.PodStats
	err   error
	// abandoned is true if the context of the sampling caller ended, so the error is not the pod's.
	abandoned bool
	done      executor.Latch // opens when the other fields are set
}

func newSampler(now time.Time) *sampler {
	s := &sampler{startedAt: now}
	s.mu.last = make(map[types.UID]*podSample)
	return s
}

// getSample returns a sample of a pod that is not older than statsPeriod. Of several concurrent callers
// one samples the pod, and the others wait for its sample. If its context ends, another caller samples
// the pod.
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

// claim returns the present sample if it is new enough or being taken. Otherwise it returns an empty
// sample, and claimed says that the caller must take it.
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

// takeSample reads the stats of a pod from the runtime into sample.
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

// totalUsage returns the usage of all sampled containers, including removed ones.
func (s *sampler) totalUsage() usage.Total {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.samples.Total()
}

// forgetUnknownPods drops the samples of pods for which isKnown returns false.
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
