package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// What every sync counts is kept in stripes, of which each pod has one, so that the workers of
// different pods seldom write to the same place; they are added up when somebody asks. A histogram
// of the client library costs several writes to memory that all workers share.
type stripes [8]stripe

// stripe is what some of the pods have counted.
type stripe struct {
	durations [operations]durations
	errors    [operations]atomic.Uint64
	start     durations
	phases    [lifecycle.Finished + 1]atomic.Uint64
	_         [64]byte // so that no two stripes share a line of a cache
}

// stripeFor is the stripe of a pod.
func (s *stripes) stripeFor(uid types.UID) *stripe {
	if uid == "" {
		return &s[0]
	}
	last := uid[len(uid)-1]
	return &s[(last^last>>4)%uint8(len(s))]
}

// bucketBounds are prometheus.DefBuckets as durations.
var bucketBounds = [...]time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// durations is a histogram of durations with these bounds.
type durations struct {
	buckets [len(bucketBounds) + 1]atomic.Uint64
	sum     atomic.Int64
}

func (d *durations) observe(took time.Duration) {
	i := 0
	for i < len(bucketBounds) && took > bucketBounds[i] {
		i++
	}
	d.buckets[i].Add(1)
	d.sum.Add(int64(took))
}

// histogram adds up what was observed in all stripes.
func (s *stripes) histogram(desc *prometheus.Desc, durationsOf func(*stripe) *durations, labels ...string) prometheus.Metric {
	var count uint64
	var sum time.Duration
	buckets := make(map[float64]uint64, len(bucketBounds))
	for i := range len(bucketBounds) + 1 {
		for j := range s {
			count += durationsOf(&s[j]).buckets[i].Load()
		}
		if i < len(bucketBounds) {
			buckets[bucketBounds[i].Seconds()] = count
		}
	}
	for j := range s {
		sum += time.Duration(durationsOf(&s[j]).sum.Load())
	}
	return prometheus.MustNewConstHistogram(desc, count, sum.Seconds(), buckets, labels...)
}

// counter adds up a counter of all stripes.
func (s *stripes) counter(desc *prometheus.Desc, counterOf func(*stripe) *atomic.Uint64, labels ...string) prometheus.Metric {
	var sum uint64
	for i := range s {
		sum += counterOf(&s[i]).Load()
	}
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(sum), labels...)
}
