package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
)

// loop has the metrics of the sync loop, of admission and of the sources of pods.
type loop struct {
	housekeeping  prometheus.Observer
	errors        prometheus.Counter
	rejections    *prometheus.CounterVec
	panics        *prometheus.CounterVec
	invalid       *prometheus.CounterVec
	sourceErrors  *prometheus.CounterVec
	interruptions prometheus.Counter
}

// newLoopMetrics creates and registers the metrics of the sync loop, of rejected pods, of pod sources and of
// contained panics.
func newLoopMetrics(f *factory) loop {
	return loop{
		housekeeping:  f.histogram("podkeel_housekeeping_duration_seconds", "Duration of a housekeeping of the sync loop.", prometheus.DefBuckets),
		errors:        f.counter("podkeel_housekeeping_errors_total", "Housekeepings of the sync loop that failed."),
		rejections:    f.counterVec("kubelet_admission_rejections_total", "Pods that admission has rejected, by reason.", "reason"),
		panics:        f.counterVec("podkeel_panics_total", "Contained panics, by call.", "call"),
		invalid:       f.counterVec("podkeel_source_rejected_pods_total", "Invalid pods of a source, which were not delivered.", "source"),
		sourceErrors:  f.counterVec("podkeel_source_errors_total", "Failures of sources of pods.", "source"),
		interruptions: f.counter("podkeel_process_stops_total", "Times that the process was stopped for a while and has resumed."),
	}
}

// knownRejectReasons are the rejection reasons that have a label value of their own.
var knownRejectReasons = []string{
	"AppArmor", "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "SupplementalGroupsPolicyNotSupported", "InvalidNodeInfo", "InitContainerRestartPolicyForbidden",
	"UnexpectedAdmissionError", "UnknownReason", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "NodeAffinity", "NodeName",
	"NodePorts", "NodeUnschedulable", "Evicted", "SysctlForbidden", "TopologyAffinityError", "NodeShutdown",
	"TaintToleration", "NameConflict", "FailedValidation", "UnsupportedField", // This node's own.
}

// extendedResource is the label value of all OutOf reasons of other resources, whose names the node's owner
// chooses.
const extendedResource = "OutOfExtendedResources"

// countRejection counts a pod that admission has rejected, by reason. An unknown reason that begins with OutOf
// counts under one label for extended resources, and any other unknown reason under "other".
func (l *loop) countRejection(_ *v1.Pod, reason, _ string) {
	switch {
	case slices.Contains(knownRejectReasons, reason):
	case strings.HasPrefix(reason, "OutOf"):
		reason = extendedResource
	default:
		reason = otherReason
	}
	l.rejections.WithLabelValues(reason).Inc()
}

// recordHousekeeping adds the duration of one housekeeping to its histogram, and counts an error.
func (l *loop) recordHousekeeping(took time.Duration, err error) {
	observeDuration(l.housekeeping, took)
	if err != nil {
		l.errors.Inc()
	}
}

// countPanic counts a panic that the loop has recovered, by the name of the call that panicked.
func (l *loop) countPanic(call string, _ error) { l.panics.WithLabelValues(call).Inc() }

// countInvalidPod counts an invalid pod by the source that has rejected it.
func (l *loop) countInvalidPod(source string, _ *v1.Pod, _ error) {
	l.invalid.WithLabelValues(source).Inc()
}

// countSourceError counts a failure of a pod source, by the name of the source.
func (l *loop) countSourceError(source string, _ error) {
	l.sourceErrors.WithLabelValues(source).Inc()
}

// countInterruption counts a time in which the process was stopped and then resumed.
func (l *loop) countInterruption(time.Duration) { l.interruptions.Inc() }
