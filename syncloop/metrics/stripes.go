package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// stripes has the counters that every sync increments, in several copies. The UID of a pod selects its copy,
// so the workers of different pods seldom write to the same cache line. A scrape adds the copies up. A
// histogram of the client library costs several writes to memory that all workers share.
type stripes [8]stripe

// stripe has the counters of some of the pods.
type stripe struct {
	durations [operations]durations
	errors    [operations]atomic.Uint64
	start     durations
	phases    [lifecycle.Finished + 1]atomic.Uint64
	_         [64]byte // keeps two stripes out of one cache line
}

// stripeFor returns the copy of the counters for a pod, selected by the last byte of its UID. There are several
// copies so that the workers of different pods seldom write to the same cache line.
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

// durations is a histogram of durations with bucketBounds.
type durations struct {
	buckets [len(bucketBounds) + 1]atomic.Uint64
	sum     atomic.Int64
}

// countInBucketAndAddToSum increments the count of the bucket to which the duration belongs, and adds the
// duration to the sum.
func (d *durations) countInBucketAndAddToSum(took time.Duration) {
	i := 0
	for i < len(bucketBounds) && took > bucketBounds[i] {
		i++
	}
	d.buckets[i].Add(1)
	d.sum.Add(int64(took))
}

// histogramOfAllStripes returns a histogram metric with the sums over all copies of the counters. durationsOf
// selects the durations in a copy.
func (s *stripes) histogramOfAllStripes(desc *prometheus.Desc, durationsOf func(*stripe) *durations, labels ...string) prometheus.Metric {
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

// counterOfAllStripes returns a counter metric with the sum over all copies of the counters. counterOf selects
// the counter in a copy.
func (s *stripes) counterOfAllStripes(desc *prometheus.Desc, counterOf func(*stripe) *atomic.Uint64, labels ...string) prometheus.Metric {
	var sum uint64
	for i := range s {
		sum += counterOf(&s[i]).Load()
	}
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(sum), labels...)
}
