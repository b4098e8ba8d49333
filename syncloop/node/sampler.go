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
	since time.Time // when the node was made
	mu    struct {
		sync.Mutex
		samples usage.Samples
		last    map[types.UID]*sampled
	}
}

// sampled is the last sample of a pod. It is replaced, never changed.
type sampled struct {
	at    time.Time
	stats runtime.PodStats
	err   error
	// left: the caller who took it gave up, which says nothing about the pod.
	left bool
	done executor.Latch // open: the rest is there
}

func newSampler(now time.Time) *sampler {
	s := &sampler{since: now}
	s.mu.last = make(map[types.UID]*sampled)
	return s
}

// of is a sample of a pod that is not older than statsPeriod. Of several callers at once one
// takes it, and the others wait for that. If its context ends, the next caller takes one.
func (s *sampler) of(ctx context.Context, e executor.Executor, reader runtime.StatsReader, uid types.UID) (runtime.PodStats, error) {
	for {
		one, mine := s.claim(e, uid)
		if mine {
			s.take(ctx, e, reader, uid, one)
			return one.stats, one.err
		}
		if err := one.done.Wait(ctx); err != nil {
			return runtime.PodStats{}, err
		}
		if !one.left {
			return one.stats, one.err
		}
	}
}

// claim returns the sample that is good enough, or one that the caller has to take.
func (s *sampler) claim(e executor.Executor, uid types.UID) (one *sampled, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one = s.mu.last[uid]
	if one != nil && (!one.done.Opened() || one.err == nil && e.Now().Sub(one.at) < statsPeriod) {
		return one, false
	}
	one = &sampled{done: e.NewLatch()}
	s.mu.last[uid] = one
	return one, true
}

// take asks the runtime.
func (s *sampler) take(ctx context.Context, e executor.Executor, reader runtime.StatsReader, uid types.UID, one *sampled) {
	defer one.done.Open()
	bounded, cancel := e.WithDeadline(ctx, e.Now().Add(statsTimeout))
	defer cancel()
	one.stats, one.err = reader.PodStats(bounded, uid)
	one.at = e.Now()
	if one.err != nil {
		one.left = ctx.Err() != nil
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.samples.Observe(uid, &one.stats)
	usage.Sum(&one.stats)
}

func (s *sampler) total() usage.Total {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.samples.Total()
}

func (s *sampler) forget(known func(types.UID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.samples.Forget(known)
	for uid, one := range s.mu.last {
		if !known(uid) && one.done.Opened() {
			delete(s.mu.last, uid)
		}
	}
}
