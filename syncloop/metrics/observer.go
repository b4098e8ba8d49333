package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podkeel/podkeel/pleg"
)

// observer has the metrics of the PLEG, which lists the pods of the runtime.
type observer struct {
	relist, interval, inspect prometheus.Observer
	relistErrors, podErrors   prometheus.Counter
	lastSeen                  prometheus.Gauge
	streams                   prometheus.Counter
	last                      *lastRelist
}

// lastRelist is the start of the last listing. It is safe for concurrent use.
type lastRelist struct {
	sync.Mutex
	began time.Time
}

// newPLEGMetrics creates and registers the metrics of the PLEG, which lists and inspects the pods of the
// runtime.
func newPLEGMetrics(f *factory) observer {
	return observer{
		relist:       f.histogram("kubelet_pleg_relist_duration_seconds", "Duration of a listing of all pods of the runtime.", prometheus.DefBuckets),
		interval:     f.histogram("kubelet_pleg_relist_interval_seconds", "Time between the beginnings of two listings.", prometheus.DefBuckets),
		inspect:      f.histogram("kubelet_pleg_pod_relist_duration_seconds", "Duration of an inspection of one pod.", prometheus.DefBuckets),
		relistErrors: f.counter("podkeel_pleg_relist_errors_total", "Listings of all pods of the runtime that failed."),
		podErrors:    f.counter("podkeel_pleg_pod_relist_errors_total", "Inspections of one pod that failed."),
		lastSeen:     f.gauge("kubelet_pleg_last_seen_seconds", "Unix time of the last listing that succeeded."),
		streams:      f.counter("podkeel_pleg_event_streams_ended_total", "Streams of events of the runtime that have ended."),
		last:         &lastRelist{},
	}
}

// recordRelist adds the duration of a listing of the runtime, and the time since the start of the previous one,
// to their histograms. It counts a failed listing, and stores the time of a successful one.
func (m *Metrics) recordRelist(r pleg.Relisting) {
	o, now := &m.observer, m.clock.Now()
	observeDuration(o.relist, r.Took)
	began := now.Add(-r.Took)
	if last := o.last.swapStart(began); !last.IsZero() {
		observeDuration(o.interval, began.Sub(last))
	}
	if r.Err != nil {
		o.relistErrors.Inc()
		return
	}
	o.lastSeen.Set(float64(now.UnixMilli()) / 1000)
}

// swapStart stores the start of a listing, and returns the start of the previous one, or the zero time if there
// was none.
func (l *lastRelist) swapStart(began time.Time) (last time.Time) {
	l.Lock()
	defer l.Unlock()
	last, l.began = l.began, began
	return last
}

// recordInspection adds the duration of one pod's inspection to its histogram, and counts an error.
func (o *observer) recordInspection(i pleg.Inspection) {
	observeDuration(o.inspect, i.Took)
	if i.Err != nil {
		o.podErrors.Inc()
	}
}

// countStreamEnd counts an event stream of the runtime that has ended.
func (o *observer) countStreamEnd(error, time.Duration) { o.streams.Inc() }
