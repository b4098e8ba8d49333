package node_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// This file holds the class: whatever an embedder puts into node.Config may panic, and
// that costs the call in which it does. TestPanic_TheTableIsComplete keeps the table
// equal to what Config has.

// crowd is how many pods there are.
const crowd = 10

// fuse makes one call panic, for one pod if the call is about one.
type fuse struct {
	call  string
	times int // that are left; negative: always
	calls int // how often it was reached
	hits  int // how often it has panicked
}

// panicAt is called by everything that can panic. about is what tells the pod: its UID, or
// an ID that has it in it; empty: the call is about no pod.
func (f *fuse) panicAt(call, about string) {
	if f.call != call {
		return
	}
	f.calls++
	if f.times == 0 || f.times < 0 && about != "" && !strings.Contains(about, "pod-0") {
		return
	}
	f.times--
	f.hits++
	panic("boom")
}

// The parts of a node that can panic. Each does what it should otherwise.
type (
	fusedRuntime struct {
		*memory.Runtime
		*fuse
		owners map[string]string // of sandboxes and containers, by ID
		logs   map[string]string // of containers
		dirs   map[string]string // of sandboxes
		// answers: the runtime answers for its containers.
		answers bool
	}
	fusedVolumes struct {
		*inmemory.Volumes
		*fuse
	}
	fusedFiles struct {
		*inmemory.Volumes
		*fuse
	}
	fusedServices struct{ *fuse }
	fusedObjects  struct {
		*objects.Map
		*fuse
	}
	fusedStatuses  struct{ *fuse }
	fusedStates    struct{ *fuse }
	fusedResources struct{ *fuse }
	fusedHTTP      struct{ *fuse }
	fusedKeyring   struct{ *fuse }
	fusedChecker   struct {
		*fuse
		call string
	}
	fusedRecorder struct{ *fuse }
	fusedSink     struct{ *fuse }
	fusedSource   struct{ *fuse }
	fusedLog      struct{ *fuse }
	fusedAdmit    struct{ *fuse }
	fusedCgroups  struct{ *fuse }
	fusedView     struct{ *fuse }
)

func (r *fusedRuntime) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	r.panicAt("Runtime.RunHandler", r.owners[req.ContainerID])
	return r.Runtime.RunHandler(ctx, req)
}

func (r *fusedRuntime) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	r.panicAt("Runtime.ListPods", "")
	return r.Runtime.ListPods(ctx)
}

func (r *fusedRuntime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	r.panicAt("Runtime.PodStatus", string(uid))
	return r.Runtime.PodStatus(ctx, uid)
}

func (r *fusedRuntime) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	r.panicAt("Runtime.RunSandbox", string(req.Pod.UID))
	id, err := r.Runtime.RunSandbox(ctx, req)
	r.dirs[id], r.owners[id] = req.LogDir, string(req.Pod.UID)
	return id, err
}

func (r *fusedRuntime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	r.panicAt("Runtime.StopSandbox", r.owners[req.SandboxID])
	return r.Runtime.StopSandbox(ctx, req)
}

func (r *fusedRuntime) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	r.panicAt("Runtime.RemoveSandbox", r.owners[req.SandboxID])
	return r.Runtime.RemoveSandbox(ctx, req)
}

func (r *fusedRuntime) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	r.panicAt("Runtime.CreateContainer", string(req.Pod.UID))
	id, err := r.Runtime.CreateContainer(ctx, req)
	if err == nil {
		r.logs[id], r.owners[id] = filepath.Join(r.dirs[req.SandboxID], req.LogPath), string(req.Pod.UID)
	}
	return id, err
}

func (r *fusedRuntime) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	r.panicAt("Runtime.StartContainer", r.owners[req.ContainerID])
	return errors.Join(r.ReopenContainerLog(nil, req.ContainerID), r.Runtime.StartContainer(ctx, req))
}

func (r *fusedRuntime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	r.panicAt("Runtime.StopContainer", r.owners[req.ContainerID])
	return r.Runtime.StopContainer(ctx, req)
}

func (r *fusedRuntime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	r.panicAt("Runtime.RemoveContainer", r.owners[req.ContainerID])
	return r.Runtime.RemoveContainer(ctx, req)
}

func (r *fusedRuntime) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	r.panicAt("Runtime.PullImage", string(req.Pod.UID))
	return r.Runtime.PullImage(ctx, req)
}

func (r *fusedRuntime) ImageStatus(ctx context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	r.panicAt("Runtime.ImageStatus", string(req.Pod.UID))
	return r.Runtime.ImageStatus(ctx, req)
}

func (r *fusedRuntime) ListImages(ctx context.Context) ([]runtime.Image, error) {
	r.panicAt("Runtime.ListImages", "")
	return r.Runtime.ListImages(ctx)
}

func (r *fusedRuntime) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	r.panicAt("Runtime.RemoveImage", "")
	return r.Runtime.RemoveImage(ctx, req)
}

func (r *fusedRuntime) Events(ctx context.Context, sink func(runtime.Event)) error {
	r.panicAt("Runtime.Events", "")
	return r.Runtime.Events(ctx, sink)
}

func (r *fusedRuntime) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	r.panicAt("Runtime.RuntimeStatus", "")
	return r.Runtime.RuntimeStatus(ctx)
}

func (r *fusedRuntime) Exec(_ context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	r.panicAt("Runtime.Exec", r.owners[req.ContainerID])
	return runtime.ExecResult{}, nil
}

func (r *fusedRuntime) ExecStream(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) {
	r.panicAt("Runtime.ExecStream", "")
	return 0, nil
}

func (r *fusedRuntime) Attach(context.Context, runtime.AttachRequest, runtime.Streams) error {
	r.panicAt("Runtime.Attach", "")
	return nil
}

func (r *fusedRuntime) PortForward(context.Context, runtime.PortForwardRequest, io.ReadWriteCloser) error {
	r.panicAt("Runtime.PortForward", "")
	return nil
}

func (r *fusedRuntime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	r.panicAt("Runtime.ReadLog", r.owners[req.ContainerID])
	return r.Runtime.ReadLog(ctx, req, w)
}

func (v fusedView) Node() node.NodeInfo {
	v.panicAt("View.Node", "")
	return node.NodeInfo{}
}

func (v fusedView) Refresh() {}

// ReopenContainerLog writes enough to make the log due for rotation.
func (r *fusedRuntime) ReopenContainerLog(ctx context.Context, id string) error {
	if ctx != nil { // Not a start.
		r.panicAt("Runtime.ReopenContainerLog", r.owners[id])
	}
	path := r.logs[id]
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("0123456789"), 0o644))
}

func (r *fusedRuntime) ImageFilesystem(ctx context.Context) (runtime.FilesystemUsage, error) {
	r.panicAt("Runtime.ImageFilesystem", "")
	return r.Runtime.ImageFilesystem(ctx)
}

// closed is a connection that is not used.
type closed struct{ io.ReadWriter }

func (closed) Close() error { return nil }

// Features leaves out HandlerRunner if commands and connections are to be used.
func (r *fusedRuntime) Features() runtime.Features {
	r.panicAt("Runtime.Features", "")
	f := r.Runtime.Features()
	f.EventSource, f.StatusReporter, f.Execer, f.ExecStreamer, f.Attacher, f.PortForwarder = r, r, r, r, r, r
	f.LogReader, f.LogReopener, f.UsedImageLister, f.ImageFilesystem = r, r, r, r
	f.HandlerRunner, f.StatsReader, f.Updater, f.Versioner = nil, nil, nil, nil
	if r.answers {
		f.HandlerRunner = r
	}
	return f
}

func (r *fusedRuntime) ListUsedImages(context.Context) ([]string, error) {
	r.panicAt("Runtime.ListUsedImages", "")
	return nil, runtime.ErrUnsupported // The machine has no other containers.
}

func (c fusedCgroups) Ensure(uid types.UID, _ podresources.PodValues, _ int64) (string, error) {
	c.panicAt("PodCgroups.Ensure", string(uid))
	return "", nil
}

func (c fusedCgroups) EnsureQOS(cgroups.QOSValues) error {
	c.panicAt("PodCgroups.EnsureQOS", "")
	return nil
}

func (c fusedCgroups) List() ([]types.UID, error) {
	c.panicAt("PodCgroups.List", "")
	return nil, nil
}

func (c fusedCgroups) Remove(_ context.Context, uid types.UID) error {
	c.panicAt("PodCgroups.Remove", string(uid))
	return nil
}

func (v fusedVolumes) Problems(pod *v1.Pod) []podsync.Problem {
	v.panicAt("Volumes.Problems", string(pod.UID))
	return v.Volumes.Problems(pod)
}

func (v fusedVolumes) SetUp(ctx context.Context, pod *v1.Pod) error {
	v.panicAt("Volumes.SetUp", string(pod.UID))
	return v.Volumes.SetUp(ctx, pod)
}

func (v fusedVolumes) Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]runtime.Mount, error) {
	v.panicAt("Volumes.Mounts", string(pod.UID))
	return v.Volumes.Mounts(ctx, pod, c, expand)
}

func (v fusedVolumes) TearDown(ctx context.Context, uid types.UID) error {
	v.panicAt("Volumes.TearDown", string(uid))
	return v.Volumes.TearDown(ctx, uid)
}

func (f fusedFiles) Hosts(pod *v1.Pod, ips, names []string) (string, error) {
	f.panicAt("Files.Hosts", string(pod.UID))
	return f.Volumes.Hosts(pod, ips, names)
}

func (f fusedFiles) TerminationLog(pod *v1.Pod, container string, attempt uint32) (string, error) {
	f.panicAt("Files.TerminationLog", string(pod.UID))
	return f.Volumes.TerminationLog(pod, container, attempt)
}

func (f fusedFiles) ReadTerminationLog(uid types.UID, container string, attempt uint32, limit int) ([]byte, error) {
	f.panicAt("Files.ReadTerminationLog", string(uid))
	return f.Volumes.ReadTerminationLog(uid, container, attempt, limit)
}

func (o fusedObjects) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	o.panicAt("Objects.ConfigMap", "")
	return o.Map.ConfigMap(ctx, namespace, name)
}

func (o fusedObjects) Secret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	o.panicAt("Objects.Secret", "")
	return o.Map.Secret(ctx, namespace, name)
}

func (s fusedServices) Services(_ context.Context, pod *v1.Pod) ([]*v1.Service, error) {
	s.panicAt("Services.Services", string(pod.UID))
	return nil, nil
}

func (e fusedStatuses) Save(pod *v1.Pod, _ *v1.PodStatus) error {
	e.panicAt("TerminalStatuses.Save", string(pod.UID))
	return nil
}

func (e fusedStatuses) Drop(uid types.UID) error {
	e.panicAt("TerminalStatuses.Drop", string(uid))
	return nil
}

func (e fusedStatuses) Consume(pod *v1.Pod) (v1.PodStatus, bool) {
	e.panicAt("TerminalStatuses.Consume", string(pod.UID))
	return v1.PodStatus{}, false
}

func (e fusedStatuses) Pods(func(types.UID) bool, int) ([]types.UID, error) {
	e.panicAt("TerminalStatuses.Pods", "")
	return nil, nil
}

func (r fusedResources) SaveResources(pod *v1.Pod, _ allocation.PodResources) error {
	r.panicAt("AllocatedResources.SaveResources", string(pod.UID))
	return nil
}

func (r fusedResources) ConsumeResources(*v1.Pod) (resources allocation.PodResources, found bool) {
	return resources, false
}

func (r fusedResources) DropResources(types.UID) error { return nil }

func (r fusedResources) Pods(func(types.UID) bool, int) ([]types.UID, error) {
	r.panicAt("AllocatedResources.Pods", "")
	return nil, nil
}

func (c fusedStates) SaveContainers(pod *v1.Pod, _ []podsync.ContainerState) error {
	c.panicAt("ContainerStates.SaveContainers", string(pod.UID))
	return nil
}

func (c fusedStates) ConsumeContainers(pod *v1.Pod) []podsync.ContainerState {
	c.panicAt("ContainerStates.ConsumeContainers", string(pod.UID))
	return nil
}

func (c fusedStates) DropContainers(uid types.UID) error {
	c.panicAt("ContainerStates.DropContainers", string(uid))
	return nil
}

func (c fusedStates) Pods(of func(types.UID) bool, _ int) ([]types.UID, error) {
	c.panicAt("ContainerStates.Pods", "")
	return nil, nil
}

func (h fusedHTTP) Get(_ context.Context, url string, _ http.Header) error {
	h.panicAt("HTTP.Get", url)
	return nil
}

func (k fusedKeyring) Credentials(_ context.Context, _ string, pod *v1.Pod, _ []v1.Secret) ([]runtime.Auth, error) {
	k.panicAt("Keyring.Credentials", string(pod.UID))
	return nil, nil
}

func (c fusedChecker) Check(_ context.Context, req prober.Request) (prober.CheckResult, string, error) {
	c.panicAt(c.call, string(req.UID))
	return prober.Passed, "", nil
}

func (r fusedRecorder) Event(k8sruntime.Object, string, string, string) {
	r.panicAt("Recorder.Event", "")
}

func (r fusedRecorder) Eventf(k8sruntime.Object, string, string, string, ...any) {
	r.panicAt("Recorder.Eventf", "")
}

func (s fusedSink) Send(_ context.Context, u status.Update) error {
	s.panicAt("Sink.Send", string(u.UID))
	return nil
}

func (s fusedSource) Run(_ context.Context, sink source.Sink) error {
	sink.Set(source.Snapshot{})
	s.panicAt("Sources.Run", "")
	return nil
}

func (l fusedLog) Enabled(context.Context, slog.Level) bool {
	l.panicAt("Log.Enabled", "")
	return true
}

func (l fusedLog) Handle(context.Context, slog.Record) error { l.panicAt("Log.Handle", ""); return nil }

func (l fusedLog) WithAttrs([]slog.Attr) slog.Handler { l.panicAt("Log.WithAttrs", ""); return l }

func (l fusedLog) WithGroup(string) slog.Handler { l.panicAt("Log.WithGroup", ""); return l }

func (a fusedAdmit) Admit(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
	a.panicAt("Admit.Admit", string(attrs.Pod.UID))
	return syncloop.PodAdmitResult{Admit: true}
}

// scene is a simulated node whose parts can all panic.
type scene struct {
	*fuse
	t         *testing.T
	scheduler *executor.Scheduler
	process   *executor.Process
	machine   *memory.Runtime
	node      *node.Node
	told      []string // by Hooks.Panicked
	unhealthy string   // what Healthy has said of the call
	ready     map[types.UID]bool
	err       error // of Run
}

func newScene(t *testing.T, f *fuse) *scene {
	s := &scene{fuse: f, t: t, scheduler: executor.NewScheduler(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), ready: map[types.UID]bool{}}
	s.process = s.scheduler.NewProcess()
	s.machine = memory.New(memory.Config{Clock: s.scheduler.NewProcess().Clock()})
	s.machine.SetImageFilesystem(1000, 900)
	known := objects.NewMap()
	known.ApplyConfigMap(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "conf"}, Data: map[string]string{"a": "1"}})
	known.ApplySecret(&v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pull"}, Type: v1.SecretTypeDockerConfigJson})
	root := t.TempDir()
	rt := &fusedRuntime{Runtime: s.machine.WithClock(s.process.Clock()), fuse: f, owners: map[string]string{}, logs: map[string]string{}, dirs: map[string]string{}}
	volumes := inmemory.New(inmemory.Config{Objects: fusedObjects{known, f}})
	config := node.Config{
		Runtime:  rt,
		Pods:     node.PodsConfig{Sources: map[string]source.Source{"other": fusedSource{f}}, TerminalStatuses: fusedStatuses{f}, ContainerStates: fusedStates{f}, AllocatedResources: fusedResources{f}},
		Statuses: node.StatusesConfig{Sink: fusedSink{f}},
		Volumes:  node.VolumesConfig{Manager: fusedVolumes{volumes, f}, Files: fusedFiles{volumes, f}, Objects: fusedObjects{known, f}},
		Cgroups:  node.CgroupsConfig{PodCgroups: fusedCgroups{f}},
		Containers: node.ContainersConfig{
			Services: fusedServices{f}, RuntimeClass: func(string) (string, bool) { f.panicAt("RuntimeClass", ""); return "", true }, HTTP: fusedHTTP{f},
			Augment: func(_ context.Context, pod *v1.Pod, _ *v1.Container) (podsync.Additions, error) {
				f.panicAt("Augment", string(pod.UID))
				return podsync.Additions{}, nil
			},
			DNS: podsync.Resolver{ReadHost: func() (runtime.DNS, error) { f.panicAt("DNS.ReadHost", ""); return runtime.DNS{}, nil }},
		},
		Scheduling: node.SchedulingConfig{
			View: fusedView{f}, Admit: []syncloop.PodAdmitHandler{fusedAdmit{f}},
			Evictable: func(pod *v1.Pod) bool { f.panicAt("Evictable", string(pod.UID)); return true },
		},
		Images: node.ImagesConfig{Keyring: fusedKeyring{f}},
		Probes: node.ProbesConfig{GRPC: fusedChecker{f, "GRPCProbes.Check"}},
		Logs:   node.LogsConfig{Root: root, MaxBytes: 5},
		Clock:  s.process.Clock(), Jitter: func() float64 { f.panicAt("Jitter", ""); return 0 },
		Log: slog.New(fusedLog{f}), Recorder: fusedRecorder{f},
		Hooks: node.Hooks{
			Timeline: func(uid types.UID, _ timeline.Record) { f.panicAt("Hooks.Timeline", string(uid)) },
			Workers: podworkers.Hooks{
				Phase: func(uid types.UID, _ uint64, _ lifecycle.Phase) {
					f.panicAt("Hooks.Phase", string(uid))
					if f.call == "Hooks.Panicked" {
						panic("boom")
					}
				},
				Forgotten: func(uid types.UID) { f.panicAt("Hooks.Forgotten", string(uid)) },
				Syncing:   func(pod *v1.Pod, _ uint64) { f.panicAt("Hooks.Syncing", string(pod.UID)) },
				Synced:    func(sync podworkers.Synced) { f.panicAt("Hooks.Synced", string(sync.UID)) },
				Panicked: func(call string, _ error) {
					s.told = append(s.told, call)
					f.panicAt("Hooks.Panicked", "")
				},
			},
			Status: func(pod *v1.Pod, _ *v1.PodStatus) { f.panicAt("Hooks.Status", string(pod.UID)) },
		},
	}
	switch f.call {
	case "Check.Check":
		config.Probes.Check = fusedChecker{f, f.call}
	case "Runtime.RunHandler":
		rt.answers = true
	}
	var err error
	s.node, err = node.New(config)
	require.NoError(t, err)
	return s
}

// workerPod returns a pod that uses every feature. Its container fails from time to time.
func workerPod(i int) *v1.Pod {
	name := fmt.Sprintf("pod-%d", i)
	hook := func(h v1.LifecycleHandler) *v1.LifecycleHandler { return &h }
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name),
			Annotations: map[string]string{memory.AnnotationPrefix + "c": "run=5s exit=1; run=5s exit=1; run=5s exit=1; run=forever"},
		},
		Spec: v1.PodSpec{
			ImagePullSecrets: []v1.LocalObjectReference{{Name: "pull"}},
			RuntimeClassName: new("class"),
			Volumes:          []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}, {Name: "data", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "data:1"}}}},
			Containers: []v1.Container{{
				Name: "c", Image: "img:" + name, Command: []string{"serve"},
				EnvFrom:                  []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}},
				VolumeMounts:             []v1.VolumeMount{{Name: "conf", MountPath: "/conf"}},
				TerminationMessagePolicy: v1.TerminationMessageFallbackToLogsOnError,
				ReadinessProbe:           &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 1}}, PeriodSeconds: 60},
				Lifecycle: &v1.Lifecycle{
					PostStart: hook(v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"hello"}}}),
					PreStop:   hook(v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Path: "/" + name, Port: intstr.FromInt(80)}}),
				},
				Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1m")}},
			}},
		},
	}
}

// playStory is the life of ten pods: they run, one is evicted, and all are dropped. It
// returns how many have been ready, and how many have gone without a trace.
func (s *scene) playStory() (ready, gone int) {
	ctx, end := executor.WithCancel(context.Background())
	var pods []*v1.Pod
	for i := range crowd {
		pods = append(pods, workerPod(i))
	}
	require.NoError(s.t, s.node.Replace(pods))
	ended := false
	s.process.Go(func() {
		s.err = s.node.Run(ctx)
		ended = true
	})
	s.passTime(2 * time.Minute)
	s.process.Go(func() {
		_ = s.node.Containers().ReadLog(ctx, runtime.ReadLogRequest{}, io.Discard)
		_, _ = s.node.Containers().ExecStream(ctx, runtime.ExecStreamRequest{}, runtime.Streams{})
		_ = s.node.Containers().Attach(ctx, runtime.AttachRequest{}, runtime.Streams{})
		_ = s.node.Containers().PortForward(ctx, runtime.PortForwardRequest{}, closed{})
	})
	_, _ = s.node.Evict("pod-0", node.Eviction{})
	s.passTime(time.Minute)
	require.NoError(s.t, s.node.Replace(nil))
	s.passTime(8 * time.Minute)
	for i := range crowd {
		uid := types.UID(fmt.Sprintf("pod-%d", i))
		left := s.machine.SnapshotPod(uid)
		if len(left.Sandboxes)+len(left.Containers) == 0 && !slices.ContainsFunc(s.node.Pods(), func(p *v1.Pod) bool { return p.UID == uid }) {
			gone++
		}
	}
	end()
	s.scheduler.RunUntil(s.scheduler.Now().Add(2 * time.Minute))
	assert.True(s.t, ended, "Run has ended")
	assert.Zero(s.t, s.process.Running())
	return len(s.ready), gone
}

// passTime runs the simulation for d and records the ready pods.
func (s *scene) passTime(d time.Duration) {
	for end := s.scheduler.Now().Add(d); s.scheduler.Now().Before(end); {
		s.scheduler.RunUntil(s.scheduler.Now().Add(20 * time.Second))
		for _, p := range s.node.Pods() {
			if len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].Ready {
				s.ready[p.UID] = true
			}
		}
		if err := s.node.Health().Err; err != nil && strings.Contains(err.Error(), "panicked: boom") {
			s.unhealthy = err.Error()
		}
	}
}

// panicking is a call of code in node.Config.
type panicking struct {
	call string
	name string // by which health tells; empty: the call's
	// ready and gone are how many pods come so far if the call always panics: for pod-0
	// where it is about one pod, and for all where it is about none.
	ready, gone int
}

var panickings = []panicking{
	{call: "Admit.Admit", name: "PodAdmitHandler.Admit", ready: 9, gone: 10},
	{call: "AllocatedResources.Pods", name: "gc of directories", ready: 10, gone: 10},
	{call: "AllocatedResources.SaveResources", ready: 10, gone: 10},
	{call: "Augment", ready: 9, gone: 10},
	{call: "Check.Check", name: "Checker.Check", ready: 9, gone: 10},
	{call: "ContainerStates.DropContainers", ready: 10, gone: 10},
	{call: "ContainerStates.Pods", name: "gc of directories", ready: 10, gone: 10},
	{call: "ContainerStates.SaveContainers", ready: 10, gone: 10},
	{call: "ContainerStates.ConsumeContainers", ready: 10, gone: 10},
	{call: "DNS.ReadHost", ready: 0, gone: 10},
	{call: "TerminalStatuses.Drop", ready: 10, gone: 10},
	{call: "TerminalStatuses.Pods", name: "gc of directories", ready: 10, gone: 10},
	{call: "TerminalStatuses.Save", ready: 10, gone: 10},
	{call: "TerminalStatuses.Consume", name: "TerminalStatus", ready: 9, gone: 10},
	{call: "Evictable", ready: 10, gone: 10},
	{call: "Files.Hosts", ready: 9, gone: 10},
	{call: "Files.ReadTerminationLog", ready: 10, gone: 10},
	{call: "Files.TerminationLog", ready: 9, gone: 10},
	{call: "GRPCProbes.Check", name: "Checker.Check", ready: 9, gone: 10},
	{call: "HTTP.Get", ready: 10, gone: 10},
	{call: "Hooks.Forgotten", ready: 10, gone: 10},
	{call: "Hooks.Panicked", name: "Hooks.Phase", ready: 10, gone: 10},
	{call: "Hooks.Phase", ready: 10, gone: 10},
	{call: "Hooks.Synced", ready: 10, gone: 10},
	{call: "Hooks.Syncing", ready: 10, gone: 10},
	{call: "Jitter", ready: 10, gone: 10},
	{call: "Keyring.Credentials", ready: 10, gone: 10},
	{call: "Log.Enabled", name: "Log.Handler", ready: 10, gone: 10},
	{call: "Log.Handle", name: "Log.Handler", ready: 10, gone: 10},
	{call: "PodCgroups.Ensure", name: "Cgroups.SetUp", ready: 9, gone: 10},
	{call: "PodCgroups.EnsureQOS", name: "Cgroups.SetUp", ready: 0, gone: 10},
	{call: "PodCgroups.List", name: "gc of directories", ready: 10, gone: 10},
	{call: "PodCgroups.Remove", name: "Cgroups.TearDown", ready: 10, gone: 10},
	{call: "Objects.ConfigMap", name: "Volumes.SetUp", ready: 0, gone: 10},
	{call: "Objects.Secret", ready: 10, gone: 10},
	{call: "Hooks.Status", ready: 10, gone: 10},
	{call: "Recorder.Event", ready: 10, gone: 10},
	{call: "RuntimeClass", name: "PodAdmitHandler.Admit", ready: 0, gone: 10},
	{call: "Services.Services", ready: 9, gone: 10},
	{call: "Hooks.Timeline", ready: 10, gone: 10},
	{call: "Runtime.RunHandler", ready: 9, gone: 10},
	{call: "Runtime.Attach", ready: 10, gone: 10},
	{call: "Runtime.CreateContainer", ready: 9, gone: 10},
	{call: "Runtime.Events", ready: 10, gone: 10},
	{call: "Runtime.Exec", ready: 9, gone: 10},
	{call: "Runtime.ExecStream", ready: 10, gone: 10},
	{call: "Runtime.Features", ready: 0, gone: 10}, // Pods that need a feature are refused.
	{call: "Runtime.ImageFilesystem", ready: 10, gone: 10},
	{call: "Runtime.ImageStatus", ready: 9, gone: 10},
	{call: "Runtime.ListImages", ready: 10, gone: 10},
	{call: "Runtime.ListPods", ready: 10, gone: 10},
	{call: "Runtime.ListUsedImages", ready: 10, gone: 10},
	{call: "Runtime.PodStatus", ready: 9, gone: 9},
	{call: "Runtime.PortForward", ready: 10, gone: 10},
	{call: "Runtime.PullImage", ready: 9, gone: 10},
	{call: "Runtime.ReadLog", ready: 10, gone: 10},
	{call: "Runtime.RemoveContainer", ready: 10, gone: 10},
	{call: "Runtime.RemoveImage", ready: 10, gone: 10},
	{call: "Runtime.RemoveSandbox", ready: 10, gone: 9},
	{call: "Runtime.ReopenContainerLog", ready: 10, gone: 10},
	{call: "Runtime.RunSandbox", ready: 9, gone: 10},
	{call: "Runtime.RuntimeStatus", ready: 0, gone: 10},
	{call: "Runtime.StartContainer", ready: 9, gone: 10},
	{call: "Runtime.StopContainer", ready: 10, gone: 10},
	{call: "Runtime.StopSandbox", ready: 10, gone: 9},
	{call: "Sink.Send", ready: 10, gone: 10},
	{call: "Sources.Run", name: "Sources[\"other\"].Run", ready: 10, gone: 10},
	{call: "View.Node", name: "Rule.Check", ready: 0, gone: 10},
	{call: "Volumes.Mounts", ready: 9, gone: 10},
	{call: "Volumes.Problems", name: "PodAdmitHandler.Admit", ready: 9, gone: 10},
	{call: "Volumes.SetUp", ready: 9, gone: 10},
	{call: "Volumes.TearDown", ready: 10, gone: 10},
}

// exempt are the calls that no test makes panic.
var exempt = map[string]string{
	"Clock.After": clocks, "Clock.NewTimer": clocks, "Clock.Now": clocks, "Clock.Since": clocks, "Clock.Sleep": clocks, "Clock.Tick": clocks,
	"Log.WithAttrs": unused, "Log.WithGroup": unused, "Recorder.Eventf": unused, "NewSyncer": syncer,
	"AllocatedResources.ConsumeResources": restarted, "AllocatedResources.DropResources": restarted,
	"Claims.Source": withGracePeriod, "Tokens.Token": withGracePeriod, "View.Refresh": withGracePeriod,
	"Signals.ReadSignals": evicting, "Storage.ReadStorage": evicting, "MemoryNotifier.Run": evicting,
	"Hooks.Rejected": rejecting, "Runtime.PodStats": asked, "Runtime.UpdateContainer": unused, "Runtime.Version": unused, "Runtime.UpdatePodCIDR": unused,
}

const (
	clocks          = "a clock is what the rest is built on: in a simulation it is the simulation"
	evicting        = "package evictor contains the call and tests that"
	rejecting       = "no pod of this test is rejected; package syncloop contains the call and tests that"
	asked           = "a node calls it when it is asked for figures, in the goroutine of who asks; package nodetest has a test"
	unused          = "a node does not call it; package contain has a test of what contains it"
	withGracePeriod = "it is called within Volumes.SetUp and View.Node's admission, which are contained"
	restarted       = "a node calls it for a pod of an earlier agent only; TestPanic_AllocatedResources has a test"
	syncer          = "New calls it once, in the goroutine of its caller; package podworkers contains what it makes"
)

// brokenResources are allocated resources whose methods panic.
type brokenResources struct{ *checkpoint.Resources }

func (brokenResources) ConsumeResources(*v1.Pod) (allocation.PodResources, bool) { panic("boom") }

// TestPanic_AllocatedResources: a panic in the store of allocated resources costs a running pod nothing but its
// stored resources.
func TestPanic_AllocatedResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
		run := func(broken node.AllocatedResources) {
			n, err := node.New(node.Config{Runtime: machine, Pods: node.PodsConfig{AllocatedResources: broken}})
			require.NoError(t, err)
			require.NoError(t, n.Apply(pod))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- n.Run(ctx) }()
			time.Sleep(time.Minute)
			require.Len(t, n.Pods(), 1)
			assert.Equal(t, v1.PodRunning, n.Pods()[0].Status.Phase)
			if broken != nil {
				assert.ErrorContains(t, n.Health().Err, "AllocatedResources.ConsumeResources panicked: boom")
			}
			cancel()
			require.NoError(t, <-ended)
		}
		run(nil)
		store, err := checkpoint.NewResources(checkpoint.Config{Root: t.TempDir()})
		require.NoError(t, err)
		run(brokenResources{store})
	})
}

func TestPanic_OfAnythingInConfig(t *testing.T) {
	for i, c := range panickings {
		name := cmp.Or(c.name, c.call)
		t.Run(c.call+"/once", func(t *testing.T) {
			if i%2 == 1 && !longtest.Run() {
				t.Skip("every second call panics once, unless PODKEEL_LONG is 1")
			}
			s := newScene(t, &fuse{call: c.call, times: 1})
			ready, gone := s.playStory()
			assert.Equal(t, [3]int{1, crowd, crowd}, [3]int{s.hits, ready, gone}, "panics, ready, gone")
			assert.NoError(t, s.err)
			s.assertTold(name)
		})
		t.Run(c.call+"/always", func(t *testing.T) {
			if i%2 == 0 && !longtest.Run() {
				t.Skip("every second call panics always, unless PODKEEL_LONG is 1")
			}
			s := newScene(t, &fuse{call: c.call, times: -1})
			ready, gone := s.playStory()
			assert.Equal(t, [2]int{c.ready, c.gone}, [2]int{ready, gone}, "ready, gone")
			assert.Positive(t, s.hits)
			if s.err != nil { // What could not end, or be told, is named.
				assert.ErrorIs(t, s.err, status.ErrUnsent)
			}
			s.assertTold(name)
		})
	}
}

// assertTold asserts that the hook and the health have told of one call and no other.
func (s *scene) assertTold(name string) {
	s.t.Helper()
	assert.Equal(s.t, []string{name}, slices.Compact(s.told))
	assert.Contains(s.t, s.unhealthy, name+" panicked: boom (contained; ")
}

// listCalls returns the calls that a field of Config can receive.
func listCalls(field string, t reflect.Type) (list []string) {
	switch t.Kind() {
	case reflect.Func:
		return []string{field}
	case reflect.Interface:
		for i := range t.NumMethod() {
			list = append(list, field+"."+t.Method(i).Name)
		}
	case reflect.Slice, reflect.Map:
		return listCalls(field, t.Elem())
	case reflect.Pointer:
		if t == reflect.TypeFor[*slog.Logger]() {
			return listCalls(field, reflect.TypeFor[slog.Handler]())
		}
		return listCalls(field, t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && (f.Type.Kind() == reflect.Func || f.Type.Kind() == reflect.Interface) {
				list = append(list, listCalls(field+"."+f.Name, f.Type)...)
			}
		}
	}
	return list
}

// optionalMethods returns the methods of the optional interfaces of package runtime.
func optionalMethods(t *testing.T) (list []string) {
	for _, name := range []string{"optional.go", "features.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), "../../runtime/"+name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					list = append(list, "Runtime."+m.Names[0].Name)
				}
			}
			return true
		})
	}
	return list
}

// callNames are the names of fields in the report of a panic, where they differ.
var callNames = map[string]string{"Manager": "Volumes", "GRPC": "GRPCProbes"}

// TestPanic_TheTableIsComplete: a new field of Config, and a new method of an interface in it, needs a
// row that says what a panic of it costs.
func TestPanic_TheTableIsComplete(t *testing.T) {
	want := optionalMethods(t)
	config := reflect.TypeFor[node.Config]()
	for i := range config.NumField() {
		field := config.Field(i)
		switch group := field.Type; {
		case group == reflect.TypeFor[node.Hooks]():
			want = append(want, listCalls("Hooks", group)...)
			want = append(want, listCalls("Hooks", reflect.TypeFor[podworkers.Hooks]())...)
		case strings.HasSuffix(group.String(), "Config"): // A group: a panic is named by the field in it.
			for i := range group.NumField() {
				want = append(want, listCalls(cmp.Or(callNames[group.Field(i).Name], group.Field(i).Name), group.Field(i).Type)...)
			}
		default:
			want = append(want, listCalls(field.Name, group)...)
		}
	}
	slices.Sort(want)
	got := slices.Collect(maps.Keys(exempt))
	for _, c := range panickings {
		got = append(got, c.call)
	}
	slices.Sort(got)
	assert.Equal(t, slices.Compact(want), got) // ImageFilesystem and others are one of two kinds.
}
