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

// getRecentSample returns a sample of a pod's resource usage that is not older than statsPeriod. If several
// callers need a new sample, one takes it and the others wait for it. If the context of that caller ends,
// another caller takes the sample.
func (s *sampler) getRecentSample(ctx context.Context, e executor.Executor, reader runtime.StatsReader, uid types.UID) (runtime.PodStats, error) {
	for {
		sample, mustTake := s.latestOrNewSample(e, uid)
		if mustTake {
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

// latestOrNewSample returns the latest sample of a pod if it succeeded less than statsPeriod ago, or if another
// caller is taking it. If neither holds, it stores and returns an empty sample and true, and the caller must
// fill the sample.
func (s *sampler) latestOrNewSample(e executor.Executor, uid types.UID) (sample *podSample, mustTake bool) {
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

// takeSample reads the resource usage of a pod from the runtime into sample, within statsTimeout, computes
// rates from earlier samples, and wakes the callers that wait for the sample. If it failed and ctx has ended,
// it marks the sample as abandoned, and another caller takes a new one.
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

// totalUsageOfSampledContainers returns the total usage of all containers that were ever sampled, including
// removed ones.
func (s *sampler) totalUsageOfSampledContainers() usage.Total {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.samples.Total()
}

// forgetUnknownPods deletes the samples of the pods for which isKnown returns false. A sample that a caller is
// taking stays.
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
