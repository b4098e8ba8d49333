package metrics

import (
	"cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/syncloop/eviction"
)

// actions has the metrics of the actions of syncs.
type actions struct {
	pods, podErrors             prometheus.Counter
	containers, containerErrors *prometheus.CounterVec
	duration                    *prometheus.HistogramVec
	errors                      *prometheus.CounterVec
	crashLoopWaits              prometheus.Counter
	oomKills                    *prometheus.CounterVec
	pulls                       *prometheus.CounterVec
	evictions                   *prometheus.CounterVec
	evictionStatsAge            *prometheus.HistogramVec
}

// newActionMetrics creates and registers the metrics of the actions of a sync, such as starting a container,
// and of image pulls.
func newActionMetrics(f *factory) actions {
	return actions{
		pods:             f.counter("kubelet_started_pods_total", "Attempts to start a sandbox of a pod."),
		podErrors:        f.counter("kubelet_started_pods_errors_total", "Attempts to start a sandbox of a pod that failed."),
		containers:       f.counterVec("kubelet_started_containers_total", "Attempts to start a container.", "container_type"),
		containerErrors:  f.counterVec("kubelet_started_containers_errors_total", "Attempts to start a container that failed, by reason.", "container_type", "code"),
		duration:         f.histogramVec("podkeel_action_duration_seconds", "Duration of the actions of syncs, such as starting a container including the pull of its image.", callBuckets, "action"),
		errors:           f.counterVec("podkeel_action_errors_total", "Actions of syncs that failed.", "action"),
		crashLoopWaits:   f.counter("podkeel_crash_loop_holds_total", "Syncs that found a container waiting in its crash loop."),
		oomKills:         f.counterVec("podkeel_container_oom_kills_total", "Containers that lost a process to the kernel because memory ran out, by the limit that was reached.", "limit"),
		evictions:        f.counterVec("kubelet_evictions", "Pods that the node has evicted, by the signal or the limit of local storage.", "eviction_signal"),
		evictionStatsAge: f.histogramVec("kubelet_eviction_stats_age_seconds", "Age of the measurement for which a pod was evicted, by signal.", prometheus.DefBuckets, "eviction_signal"),
		pulls:            f.counterVec("podkeel_image_pulls_total", "Pulls of images.", "result"),
	}
}

// recordAction records the duration of one action of a sync and counts its error. It also counts the start of a
// sandbox or container in the kubelet's metrics.
func (m *Metrics) recordAction(r podsync.Result) {
	a := &m.actions
	observeDuration(a.duration.WithLabelValues(string(r.Action)), r.Took)
	if r.Err != nil {
		a.errors.WithLabelValues(string(r.Action)).Inc()
	}
	switch r.Action {
	case podsync.CreatePodSandbox:
		a.pods.Inc()
		if r.Err != nil {
			a.podErrors.Inc()
		}
	case podsync.StartContainer:
		m.recordContainerStart(r)
	}
}

// recordContainerStart counts an attempt to start a container by its type, and a failed one also by its reason.
// A failure without a known reason counts as "other". The type is regular if the pod is not tracked.
func (m *Metrics) recordContainerStart(r podsync.Result) {
	kind := typeRegular
	m.pods.callWithTrackedPod(r.UID, func(known *pod) { kind = containerType(known.pod, r.Target) })
	m.actions.containers.WithLabelValues(kind).Inc()
	if r.Err != nil {
		code := otherReason
		if reason, ok := contain.AsType[podstatus.Reason](r.Err); ok {
			code = string(reason)
		}
		m.actions.containerErrors.WithLabelValues(kind, code).Inc()
	}
}

// countCrashLoopWait counts a sync that did not start a container because of its crash-loop back-off.
func (a *actions) countCrashLoopWait(podsync.RestartDelay) { a.crashLoopWaits.Inc() }

// countPull counts a pull of an image by its result, "error" or "success".
func (a *actions) countPull(p images.Pull) { a.pulls.WithLabelValues(resultLabel(p.Err)).Inc() }

// resultLabel returns the value of the label "result": "success" if err is nil, and "error" otherwise.
func resultLabel(err error) string {
	if err != nil {
		return "error"
	}
	return "success"
}

// countEviction counts the eviction of a pod, and for a signal it observes the age of the measurement. A shorter grace
// period of a pod that terminates already is no eviction.
func (a *actions) countEviction(v eviction.Victim) {
	if v.Shortens {
		return
	}
	a.evictions.WithLabelValues(v.Cause).Inc()
	if v.Condition != nil {
		observeDuration(a.evictionStatsAge.WithLabelValues(v.Cause), v.StatsAge)
	}
}

// countOOMKill counts a container that the kernel has killed a process of. The label limit is "unknown" if the limit is
// not known.
func (a *actions) countOOMKill(r podsync.OOMReport) {
	a.oomKills.WithLabelValues(cmp.Or(string(r.Limit), "unknown")).Inc()
}
