package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expositions in testdata; review the difference")

// scripted returns a pod with one container that follows a script.
func scripted(name, script string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("uid-" + name), CreationTimestamp: metav1.Unix(946684800, 0),
			Annotations: map[string]string{memory.AnnotationPrefix + "c": script},
		},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: name + ":1"}}},
	}
}

// simulated is a node with its metrics.
type simulated struct {
	*nodetest.Simulation
	t       *testing.T
	metrics *metrics.Metrics
}

func simulate(t *testing.T, config nodetest.Config) *simulated {
	s := &simulated{t: t, metrics: metrics.New(metrics.Config{})}
	config.Configure = s.metrics.Instrument
	s.Simulation = nodetest.New(t, config)
	s.metrics.Observe(s.Node())
	return s
}

// exposition returns the scrape of some collectors.
func exposition(t *testing.T, of ...prometheus.Collector) string {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(of...)
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
	families, err := registry.Gather()
	require.NoError(t, err)
	var out bytes.Buffer
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(&out, family)
		require.NoError(t, err)
	}
	return out.String()
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// sink accepts every status except the first ones of one pod.
type sink struct {
	refused types.UID
	times   int
}

func (s *sink) Send(_ context.Context, u status.Update) error {
	if u.UID == s.refused && s.times > 0 {
		s.times--
		return errors.New("it does not take this")
	}
	return nil
}

// failing is a source that delivers a pod without a name and then fails.
type failing struct{}

func (failing) Run(_ context.Context, to source.Sink) error {
	to.Set(source.Snapshot{Pods: []*v1.Pod{{}}})
	return errors.New("no such directory")
}

// The whole life of a node: everything that a simulated node can count is counted (SM-13).
func TestStory_SM13(t *testing.T) {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	s := simulate(t, nodetest.Config{
		Wrap: faults.Wrap,
		Node: node.Config{Statuses: node.StatusesConfig{Sink: &sink{"uid-unloved", 3}}, Pods: node.PodsConfig{Sources: map[string]source.Source{"files": failing{}}, OrphanGrace: -1},
			Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{"cpu": resource.MustParse("1")}}},
	})
	s.apply()
	for _, rule := range []faulty.Rule{
		{Verb: faulty.RunSandbox, UID: "uid-late", Do: faulty.Fail, Times: 1},
		{Verb: faulty.PullImage, UID: "uid-late", Latency: 7 * time.Second, Times: 1},
		{Verb: faulty.PodStatus, UID: "uid-web", Do: faulty.Fail, Skip: 3, Times: 1},
		{Verb: faulty.ListPods, Do: faulty.Fail, Skip: 2, Times: 1},
	} {
		_, err = faults.Add(rule)
		require.NoError(t, err)
	}
	s.Run(30 * time.Second)
	s.Delete("uid-gone")
	s.Run(time.Minute)
	golden(t, "story.prom", exposition(t, s.metrics))
	assert.Equal(t, []string{"uid-broken", "uid-crashing", "uid-late", "uid-unloved", "uid-web"}, metrics.Remembered(s.metrics), "without the rejected and the removed pods")
	assert.Equal(t, "1/1 Running restarts=0", s.Status("late"))
	s.Stop()
	assert.NotContains(t, exposition(t, s.metrics), `pod="gone"`, "the series of a removed pod are deleted")
}

func (s *simulated) apply() {
	web := scripted("web", "run=forever")
	web.Spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1"}}
	web.Annotations[memory.AnnotationPrefix+"init"] = "run=2s exit=0"
	probe := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}
	web.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: probe, PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3}
	web.Annotations[memory.AnnotationPrefix+"c.readiness"] = "fail for=15s; ok takes=200ms"
	gone := scripted("gone", "run=forever")
	gone.Spec.Containers[0].LivenessProbe = &v1.Probe{ProbeHandler: probe, PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3}
	large := scripted("large", "run=forever")
	large.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("2")}
	for _, pod := range []*v1.Pod{
		web, gone, large, scripted("crashing", "run=1s exit=3 reason=Strange"), scripted("unloved", "run=forever"), scripted("late", "run=forever"),
		scripted("broken", "fail=create; run=forever"),
	} {
		s.Apply(pod)
	}
}

// The reasons of the node's own admission are not counted as "Other".
func TestRejections_OwnReasons(t *testing.T) {
	handle := source.NewHandle()
	invalid, taint := scripted("invalid", "run=forever"), v1.Taint{Key: "gone", Effect: v1.TaintEffectNoExecute}
	invalid.Spec.Containers = append(invalid.Spec.Containers, invalid.Spec.Containers[0])
	again := scripted("kept", "run=forever")
	again.UID = "uid-again"
	s := simulate(t, nodetest.Config{Node: node.Config{Scheduling: node.SchedulingConfig{Taints: []v1.Taint{taint}}, Pods: node.PodsConfig{Sources: map[string]source.Source{"files": handle}, OrphanGrace: -1}}})
	require.NoError(t, handle.Replace([]*v1.Pod{scripted("kept", "run=forever"), invalid}))
	s.Run(10 * time.Second)
	s.Apply(again)
	s.Apply(scripted("tainted", "run=forever"))
	s.Run(10 * time.Second)
	assert.Equal(t, `# HELP kubelet_admission_rejections_total Pods that admission has rejected, by reason.
# TYPE kubelet_admission_rejections_total counter
kubelet_admission_rejections_total{reason="FailedValidation"} 1
kubelet_admission_rejections_total{reason="NameConflict"} 1
kubelet_admission_rejections_total{reason="TaintToleration"} 1
`, only(exposition(t, s.metrics), "kubelet_admission_rejections_total"))
	s.Stop()
}

// Two pods have the same name, and one of them is removed: the probes of the other stay visible.
func TestProbes_AnotherPodOfTheName(t *testing.T) {
	m := metrics.New(metrics.Config{})
	var config node.Config
	m.Instrument(&config)
	probed := func(uid types.UID) {
		pod := scripted("web", "")
		pod.UID = uid
		config.Hooks.Status(pod, &v1.PodStatus{StartTime: &metav1.Time{}})
		config.Hooks.Prober.Probed(prober.Attempt{UID: uid, Container: "c", Kind: verdict.Readiness, Result: prober.Passed, Took: time.Second})
	}
	shown := func() string { return only(exposition(t, m), "prober_probe_duration_seconds_count") }
	probed("old")
	probed("new")
	assert.Equal(t, "prober_probe_duration_seconds_count{container=\"c\",namespace=\"default\",pod=\"web\",probe_type=\"Readiness\"} 2\n", shown())
	config.Hooks.Workers.Forgotten("old")
	assert.Empty(t, shown(), "no series outlives a pod of its name")
	probed("new")
	assert.Equal(t, "prober_probe_duration_seconds_count{container=\"c\",namespace=\"default\",pod=\"web\",probe_type=\"Readiness\"} 1\n", shown())
}

// Panics in code of the host program are counted by call.
func TestPanics(t *testing.T) {
	s := simulate(t, nodetest.Config{Node: node.Config{Scheduling: node.SchedulingConfig{Evictable: func(*v1.Pod) bool { panic("boom") }}}})
	s.Apply(scripted("web", "run=forever"))
	s.Run(time.Second)
	_, err := s.Node().Evict("uid-web", node.Eviction{Reason: "Test"})
	require.Error(t, err)
	require.NoError(t, testutil.CollectAndCompare(s.metrics, strings.NewReader(`# HELP podkeel_panics_total Contained panics, by call.
# TYPE podkeel_panics_total counter
podkeel_panics_total{call="Evictable"} 1
`), "podkeel_panics_total"))
	s.Stop()
}

// Calls of a memory.Runtime, and injected faults, are counted by call.
func TestCalls(t *testing.T) {
	m := metrics.New(metrics.Config{})
	faults, err := faulty.New(faulty.Config{Hooks: m.FaultyHooks()})
	require.NoError(t, err)
	_, err = faults.Add(faulty.Rule{Verb: faulty.PullImage, Do: faulty.Fail, Times: 1})
	require.NoError(t, err)
	b := nodetest.New(t, nodetest.Config{Wrap: func(_ runtime.Runtime, clk clock.Clock) runtime.Runtime {
		return faults.Wrap(memory.New(memory.Config{Clock: clk, Hooks: m.MemoryHooks()}), clk)
	}})
	b.Apply(scripted("web", "run=forever"))
	b.Run(20 * time.Second)
	m.RecordRuntimeConnection("containerd", "2.4.2")
	m.RecordSkipped("sandbox")
	m.RecordRuntimeCall("Unheard", time.Second, errors.New("no such verb"))
	got := only(exposition(t, m), "kubelet_runtime_operations_total", "kubelet_runtime_operations_errors_total",
		"kubelet_runtime_operations_duration_seconds_count", "kubelet_runtime_operations_duration_seconds_sum", "podkeel_injected_faults_total",
		"podkeel_runtime_connections_total", "podkeel_runtime_skipped_records_total")
	golden(t, "calls.prom", got)
	b.Stop()
}

// only returns the lines about some metrics.
func only(text string, names ...string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if end := strings.IndexAny(name, " {"); end > 0 && slices.Contains(names, name[:end]) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// A suspension of the process is counted, and the end of an event stream too.
func TestHooksOfParts(t *testing.T) {
	m := metrics.New(metrics.Config{})
	var config node.Config
	m.Instrument(&config)
	config.Hooks.Prober.Resumed(time.Minute)
	config.Hooks.PLEG.StreamEnded(nil, time.Second)
	config.Hooks.Statuses.Refused("uid", errors.New("it has ended"))
	config.Hooks.Sender.Failed(status.Update{}, errors.New("refused"), 0)
	config.Hooks.Images.Pulled(images.Pull{Err: errors.New("away")})
	config.Hooks.Loop.Cleanup(time.Second, errors.New("late"))
	for reason, times := range map[string]int{"NodeName": 1, "SupplementalGroupsPolicyNotSupported": 5, "OutOfmemory": 2, "OutOfexample.com/gpu": 3, "MyOwn": 4} {
		for range times {
			config.Hooks.Rejected(nil, reason, "")
		}
	}
	golden(t, "parts.prom", only(exposition(t, m), "podkeel_process_stops_total", "podkeel_pleg_event_streams_ended_total", "podkeel_pod_statuses_total",
		"podkeel_pod_status_send_errors_total", "podkeel_image_pulls_total", "podkeel_housekeeping_errors_total", "kubelet_admission_rejections_total"))
}

// Changes of the node's object are counted.
func TestAgentHooks(t *testing.T) {
	m := metrics.New(metrics.Config{})
	h := m.AgentHooks()
	h.RequestDone(nil)
	h.RequestDone(errors.New("away"))
	h.Changed(&v1.Node{})
	h.Replaced("a", "b")
	h.OtherHolder("somebody")
	golden(t, "agent.prom", only(exposition(t, m), "podkeel_node_requests_total", "podkeel_node_object_changes_total",
		"podkeel_node_object_replacements_total", "podkeel_node_lease_conflicts_total"))
}

// answers is a transport that returns a sequence of status codes, 0 for no answer.
type answers struct {
	*clocktesting.FakePassiveClock
	codes []int
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	a.SetTime(a.Now().Add(30 * time.Millisecond))
	code := a.codes[0]
	if a.codes = a.codes[1:]; code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: code}, nil
}

// Requests to the API server are counted as in the kubelet.
func TestRoundTripper(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	m := metrics.New(metrics.Config{Clock: clk})
	server := m.RoundTripper(&answers{clk, []int{200, 200, 409, 0}})
	for _, method := range []string{"GET", "GET", "PATCH", "PATCH"} {
		r, err := http.NewRequestWithContext(t.Context(), method, "https://10.0.0.1:6443/api/v1/pods", nil)
		require.NoError(t, err)
		answer, err := server.RoundTrip(r)
		assert.Equal(t, err == nil, answer != nil)
	}
	golden(t, "requests.prom", only(exposition(t, m), "rest_client_requests_total", "rest_client_request_duration_seconds_count", "rest_client_request_duration_seconds_sum"))
}

// The name of a node is one metric, for joins with others.
func TestNodeName(t *testing.T) {
	for config, want := range map[metrics.Config]string{{}: `{node="localhost"} 1`, {Node: "a"}: `{node="a"} 1`} {
		m := metrics.New(config)
		s := nodetest.New(t, nodetest.Config{Configure: m.Instrument})
		m.Observe(s.Node())
		assert.Equal(t, "kubelet_node_name"+want+"\n", strings.SplitAfterN(only(exposition(t, m), "kubelet_node_name"), "\n", 3)[2])
		s.Stop()
	}
}

// A label distinguishes several nodes of one process.
func TestSeveralNodes(t *testing.T) {
	a, b := metrics.New(metrics.Config{Node: "a"}), metrics.New(metrics.Config{Node: "b"})
	a.RecordRuntimeConnection("", "")
	assert.Equal(t, `# HELP podkeel_runtime_connections_total Connections to a runtime that has answered.
# TYPE podkeel_runtime_connections_total counter
podkeel_runtime_connections_total{node="a"} 1
podkeel_runtime_connections_total{node="b"} 0
`, only(exposition(t, a, b), "podkeel_runtime_connections_total"))
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(a))
	require.Error(t, registry.Register(metrics.New(metrics.Config{Node: "a"})), "two nodes of one name")
}

// Resource metrics have the time of the measurement, and unknown values are left out (SM-8).
func TestResources_SM8(t *testing.T) {
	s := simulate(t, nodetest.Config{})
	s.Apply(scripted("web", "run=forever cpu=500m memory=64Mi"))
	s.Run(5 * time.Second)
	resources := metrics.NewResources(metrics.Config{}, s.Node().Containers())
	first := exposition(t, resources)
	golden(t, "resources.prom", first)
	s.Run(5 * time.Second)
	assert.Equal(t, first, exposition(t, resources), "the same sample has the same time")
	s.Stop()
}

// unmeasured is a reader that fails, or has no figures.
type unmeasured struct{ err error }

func (u unmeasured) NodeStats(context.Context) (node.NodeStats, error) {
	swap := &runtime.SwapStats{UsageBytes: new(uint64(1)), AvailableBytes: new(uint64(2))}
	return node.NodeStats{Pods: []node.PodStats{{Name: "p", Namespace: "n", PodStats: runtime.PodStats{
		CPU: &runtime.CPUStats{}, Memory: &runtime.MemoryStats{}, Containers: []runtime.ContainerStats{{Name: "c", Swap: swap}},
	}}}}, u.err
}

func TestResources_SM8_WhatIsNotKnown(t *testing.T) {
	assert.Equal(t, `# HELP container_swap_limit_bytes Swap space that the container may use.
# TYPE container_swap_limit_bytes gauge
container_swap_limit_bytes{container="c",namespace="n",pod="p"} 3
# HELP container_swap_usage_bytes Swap space that the container uses.
# TYPE container_swap_usage_bytes gauge
container_swap_usage_bytes{container="c",namespace="n",pod="p"} 1
# HELP resource_scrape_error 1 if the usage could not be read, 0 otherwise.
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`, exposition(t, metrics.NewResources(metrics.Config{}, unmeasured{})))
	assert.Equal(t, `# HELP resource_scrape_error 1 if the usage could not be read, 0 otherwise.
# TYPE resource_scrape_error gauge
resource_scrape_error 1
`, exposition(t, metrics.NewResources(metrics.Config{}, unmeasured{errors.New("no")})))
}

// named is a reader with a pod whose name may have any bytes.
type named string

func (n named) NodeStats(context.Context) (node.NodeStats, error) {
	memory := &runtime.MemoryStats{WorkingSetBytes: new(uint64(1))}
	return node.NodeStats{Pods: []node.PodStats{{Name: string(n), Namespace: "n", PodStats: runtime.PodStats{Memory: memory}}}}, nil
}

func TestResources_NamesOfAnyBytes(t *testing.T) {
	assert.Contains(t, exposition(t, metrics.NewResources(metrics.Config{}, named("a\xffb"))), "pod_memory_working_set_bytes{namespace=\"n\",pod=\"a\uFFFDb\"} 1\n")
}
