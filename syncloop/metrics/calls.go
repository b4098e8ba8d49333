package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
)

// calls has the metrics of the calls of a runtime.
type calls struct {
	total, errors *prometheus.CounterVec
	duration      *prometheus.HistogramVec
	faults        *prometheus.CounterVec
	connections   prometheus.Counter
	skipped       *prometheus.CounterVec
}

// newRuntimeCallMetrics creates and registers the metrics of calls of the runtime.
func newRuntimeCallMetrics(f *factory) calls {
	return calls{
		total:       f.counterVec("kubelet_runtime_operations_total", "Calls of the runtime.", "operation_type"),
		errors:      f.counterVec("kubelet_runtime_operations_errors_total", "Calls of the runtime that failed.", "operation_type"),
		duration:    f.histogramVec("kubelet_runtime_operations_duration_seconds", "Duration of calls of the runtime.", callBuckets, "operation_type"),
		faults:      f.counterVec("podkeel_injected_faults_total", "Faults that were injected into calls of the runtime, by verb.", "verb"),
		connections: f.counter("podkeel_runtime_connections_total", "Connections to a runtime that has answered."),
		skipped:     f.counterVec("podkeel_runtime_skipped_records_total", "Records of the runtime that cannot be attributed to a pod.", "kind"),
	}
}

// operationTypes maps the calls of CRI and of package runtime to the kubelet's operation types.
var operationTypes = map[string]string{
	"Version": "version", "Status": "status", "RuntimeStatus": "status", "RuntimeConfig": "runtime_config",
	"CreateContainer": "create_container", "StartContainer": "start_container", "StopContainer": "stop_container",
	"RemoveContainer": "remove_container", "ListContainers": "list_containers", "ContainerStatus": "container_status",
	"UpdateContainerResources": "update_container", "UpdateContainer": "update_container", "ReopenContainerLog": "reopen_container_log",
	"ExecSync": "exec_sync", "Exec": "exec", "Attach": "attach", "PortForward": "port_forward",
	"RunPodSandbox": "run_podsandbox", "RunSandbox": "run_podsandbox", "StopPodSandbox": "stop_podsandbox", "StopSandbox": "stop_podsandbox",
	"RemovePodSandbox": "remove_podsandbox", "RemoveSandbox": "remove_podsandbox", "PodSandboxStatus": "podsandbox_status",
	"ListPodSandbox": "list_podsandbox", "ContainerStats": "container_stats", "ListContainerStats": "list_container_stats",
	"PodSandboxStats": "podsandbox_stats", "ListPodSandboxStats": "list_podsandbox_stats", "PodStats": "podsandbox_stats",
	"ListImages": "list_images", "ImageStatus": "image_status", "PullImage": "pull_image", "RemoveImage": "remove_image",
	"ImageFsInfo": "image_fs_info", "ImageFilesystem": "image_fs_info", "GetContainerEvents": "get_container_events", "Events": "get_container_events",
	"ListPods": "list_podsandbox", "PodStatus": "podsandbox_status",
}

// otherOperation is the operation type of a call that the kubelet does not have.
const otherOperation = "other"

// RecordRuntimeCall counts a call of the runtime. Use it as the hook Called of package cri.
func (m *Metrics) RecordRuntimeCall(verb string, took time.Duration, err error) {
	op, ok := operationTypes[verb]
	if !ok {
		op = otherOperation
	}
	m.calls.total.WithLabelValues(op).Inc()
	observeDuration(m.calls.duration.WithLabelValues(op), took)
	if err != nil {
		m.calls.errors.WithLabelValues(op).Inc()
	}
}

// RecordRuntimeConnection counts a connection to the runtime. Use it as the hook Connected of package cri.
func (m *Metrics) RecordRuntimeConnection(_, _ string) { m.calls.connections.Inc() }

// RecordSkipped counts a record of the runtime that belongs to no pod. Call it in the hook Skipped of package
// cri with the Kind of the record.
func (m *Metrics) RecordSkipped(kind string) { m.calls.skipped.WithLabelValues(kind).Inc() }

// MemoryHooks returns hooks that count the calls of a memory.Runtime.
func (m *Metrics) MemoryHooks() memory.Hooks {
	return memory.Hooks{Call: func(c memory.Call) { m.RecordRuntimeCall(c.Verb, c.Ended.Sub(c.Began), c.Err) }}
}

// FaultyHooks returns hooks that count injected faults.
func (m *Metrics) FaultyHooks() faulty.Hooks {
	return faulty.Hooks{Hit: func(h faulty.Hit) { m.calls.faults.WithLabelValues(h.Verb).Inc() }}
}
