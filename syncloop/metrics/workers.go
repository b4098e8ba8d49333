package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// workers has the metrics of syncs. It is a prometheus.Collector.
type workers struct {
	stripes                         stripes
	duration, errors, start, phases *prometheus.Desc
}

// operation is a value of the label operation_type.
type operation uint8

const (
	opSync operation = iota
	opUpdate
	opCreate
	opKill
	opTerminated
	operations
)

var operationNames = [operations]string{"sync", "update", "create", "kill", "terminated"}

// operationType returns the kubelet's operation type for one sync: create, update, sync, kill or terminated.
func operationType(kind lifecycle.Kind, update podworkers.SyncPodType) operation {
	switch {
	case kind == lifecycle.SyncTerminatedPod:
		return opTerminated
	case kind != lifecycle.SyncPod, update == podworkers.SyncPodKill:
		return opKill
	case update == podworkers.SyncPodCreate:
		return opCreate
	case update == podworkers.SyncPodUpdate:
		return opUpdate
	}
	return opSync
}

// createDescriptionsAndAddToCollectors creates the descriptions of the metrics of pod workers, and adds w to the
// collectors that are registered later.
func (w *workers) createDescriptionsAndAddToCollectors(f *factory) {
	w.duration = f.desc("kubelet_pod_worker_duration_seconds", "Duration of one sync of a pod, successful or not, by operation type.", "operation_type")
	w.errors = f.desc("podkeel_pod_worker_errors_total", "Failed syncs of pods, by operation type.", "operation_type")
	w.start = f.desc("kubelet_pod_worker_start_duration_seconds", "Time from the first update of a pod to the start of its first sync.")
	w.phases = f.desc("podkeel_pod_worker_phases_total", "Phases that pods have entered, without the first phase.", "phase")
	f.collectors = append(f.collectors, w)
}

// Describe implements prometheus.Collector.
func (w *workers) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{w.duration, w.errors, w.start, w.phases} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (w *workers) Collect(ch chan<- prometheus.Metric) {
	for op, name := range operationNames {
		ch <- w.stripes.histogramOfAllStripes(w.duration, func(s *stripe) *durations { return &s.durations[op] }, name)
		ch <- w.stripes.counterOfAllStripes(w.errors, func(s *stripe) *atomic.Uint64 { return &s.errors[op] }, name)
	}
	ch <- w.stripes.histogramOfAllStripes(w.start, func(s *stripe) *durations { return &s.start })
	for phase := lifecycle.Terminating; phase <= lifecycle.Finished; phase++ {
		ch <- w.stripes.counterOfAllStripes(w.phases, func(s *stripe) *atomic.Uint64 { return &s.phases[phase] }, phase.String())
	}
}

// countPhase counts a phase that the worker of a pod has entered. It ignores an unknown phase.
func (w *workers) countPhase(uid types.UID, _ uint64, phase lifecycle.Phase) {
	if phase <= lifecycle.Finished {
		w.stripes.stripeFor(uid).phases[phase].Add(1)
	}
}

// recordSync adds the duration of one sync to a histogram by operation type, and counts an error. For the first
// sync of a pod it also records the time from the update to the start of the sync, if it is known.
func (w *workers) recordSync(s podworkers.Synced) {
	op, stripe := operationType(s.Kind, s.Type), w.stripes.stripeFor(s.UID)
	stripe.durations[op].countInBucketAndAddToSum(s.Took)
	if op == opCreate && s.Latency >= s.Took { // A smaller latency means that the time of the update is not known.
		stripe.start.countInBucketAndAddToSum(s.Latency - s.Took)
	}
	if s.Err != nil {
		stripe.errors[op].Add(1)
	}
}

// observeDuration adds a duration in seconds to a histogram. A negative duration, from two clocks that differ,
// counts as zero.
func observeDuration(o prometheus.Observer, d time.Duration) { o.Observe(max(0, d).Seconds()) }
