package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/mirror"
	"github.com/podkeel/podkeel/syncloop/node"
)

// harness is an API server, a machine and a node in one simulation. Server and machine
// survive the node.
type harness struct {
	*testing.T
	*executor.Scheduler
	server  *apiservertest.Server
	machine *memory.Runtime
	runtime runtime.Runtime // as the node has it
	static  *source.Handle
	process *executor.Process
	node    *cluster.Node
	end     func() // ends Run
	ended   bool   // Run has returned
	volumes func(node.Config) (podsync.Volumes, podsync.Files, error)
	resync  time.Duration
	edit    func(*node.Config)
	ips     func(context.Context) []string
	read    func(pod *v1.Pod, file string) string // of a volume
	client  func(apiserver.Server) apiserver.Server
}

func simulate(t *testing.T, seed uint64) *harness { return simulateAt(t, seed, 0) }

// simulateAt has a server whose clock is ahead of the node's.
func simulateAt(t *testing.T, seed uint64, ahead time.Duration) *harness {
	h := &harness{T: t, Scheduler: executor.NewScheduler(seed, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
	h.server = apiservertest.New(apiservertest.Config{Clock: h.NewProcess().Clock(), Ahead: ahead})
	h.machine = memory.New(memory.Config{Clock: h.NewProcess().Clock()})
	h.runtime = h.machine
	t.Cleanup(func() { h.crash() })
	return h
}

// start runs a node on the machine.
func (h *harness) start() {
	h.process = h.NewProcess()
	h.static = source.NewHandle()
	var server apiserver.Server = h.server.Client("n1")
	if h.client != nil {
		server = h.client(server)
	}
	config := node.Config{
		Name: "n1", Runtime: h.runtime, Clock: h.process.Clock(), Jitter: func() float64 { return 0 },
		Pods: node.PodsConfig{Sources: map[string]source.Source{"file": h.static}, OrphanGrace: -1}, Sync: node.SyncConfig{Resync: h.resync},
	}
	if h.edit != nil {
		h.edit(&config)
	}
	var err error
	h.node, err = cluster.New(cluster.Config{Server: server, Volumes: h.volumes, LocalIPs: h.ips, Node: config})
	require.NoError(h, err)
	n := h.node
	ctx, end := executor.WithCancel(context.Background())
	h.end, h.ended = end, false
	h.process.Go(func() {
		_ = n.Run(ctx)
		h.ended = true
	})
}

func (h *harness) crash() {
	if h.process != nil {
		h.process.Crash()
		h.process = nil
	}
}

func (h *harness) after(d time.Duration) { h.RunUntil(h.Now().Add(d)) }

// bind makes a pod that is bound to the node.
func (h *harness) bind(name string, edit ...func(*v1.Pod)) *v1.Pod {
	h.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1.PodSpec{NodeName: "n1", RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(10)),
			Containers: []v1.Container{{Name: "c", Image: "web:1", TerminationMessagePath: "/dev/termination-log",
				TerminationMessagePolicy: v1.TerminationMessageReadFile, ImagePullPolicy: v1.PullIfNotPresent}}},
	}
	for _, edit := range edit {
		edit(pod)
	}
	pod, err := h.server.Admin().CreatePod(pod)
	require.NoError(h, err)
	return pod
}

func (h *harness) phase(name string) v1.PodPhase {
	if pod := h.server.Admin().Pod("default", name); pod != nil {
		return pod.Status.Phase
	}
	return "gone"
}

func (h *harness) delete(name string, grace *int64) {
	h.Helper()
	pod := h.server.Admin().Pod("default", name)
	require.NotNil(h, pod)
	require.NoError(h, h.server.Admin().Delete(h.Context(), pod, grace))
}

// running are the pods with a container that runs, with how often it was started.
func (h *harness) running() string {
	pods, err := h.machine.ListPods(context.Background())
	require.NoError(h, err)
	var all []string
	for _, p := range pods {
		for _, c := range p.Containers {
			if p.MayRun() && c.State == runtime.StateRunning {
				all = append(all, fmt.Sprintf("%s/%s attempt %d", p.Name, c.Name, c.Attempt))
			}
		}
	}
	return strings.Join(all, ", ")
}

// TestCluster_RunAndDelete: a pod that is bound runs, and goes when it is deleted.
func TestCluster_RunAndDelete(t *testing.T) {
	h := simulate(t, 1)
	h.bind("early")
	h.start()
	h.after(5 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("early"))
	assert.Equal(t, "n1", h.server.Admin().Node("n1").Labels[v1.LabelHostname])
	h.bind("late")
	h.after(2 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("late"))
	h.delete("early", nil)
	h.after(20 * time.Second)
	assert.Equal(t, v1.PodPhase("gone"), h.phase("early"))
	assert.NotContains(t, h.running(), "early")
	h.delete("late", new(int64))
	again := h.bind("late")
	h.after(30 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("late"))
	assert.Equal(t, again.UID, h.server.Admin().Pod("default", "late").UID)
	pods, err := h.machine.ListPods(t.Context())
	require.NoError(t, err)
	for _, p := range pods {
		assert.Equal(t, p.UID == again.UID, p.MayRun(), p.UID)
	}
}

// TestCluster_TokenVolume: the volume that an API server gives every pod can be had.
func TestCluster_TokenVolume(t *testing.T) {
	h := simulate(t, 1)
	admin := h.server.Admin()
	_, err := admin.Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}})
	require.NoError(t, err)
	pod := h.bind("plain")
	pod.Name, pod.UID, pod.ResourceVersion = "web", "", ""
	pod.Spec.ServiceAccountName = "default"
	pod.Spec.Volumes = []v1.Volume{{Name: "kube-api-access", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)),
		Sources: []v1.VolumeProjection{
			{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}},
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		},
	}}}}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "kube-api-access", MountPath: "/var/run/secrets", ReadOnly: true}}
	_, err = admin.CreatePod(pod)
	require.NoError(t, err)
	h.start()
	h.after(20 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("plain"))
	assert.Equal(t, v1.PodPending, h.phase("web"), "its ConfigMap is missing")
	_, err = admin.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt", Namespace: "default"}, Data: map[string]string{"ca.crt": "x"}})
	require.NoError(t, err)
	h.after(2 * time.Minute)
	assert.Equal(t, v1.PodRunning, h.phase("web"))
	h.after(time.Hour)
	assert.Equal(t, "plain/c attempt 0, web/c attempt 0", h.running())
}

// dns is a static pod.
func dns() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "s", Name: "dns-n1", Namespace: "default", Annotations: map[string]string{podmanager.ConfigHashAnnotation: "s"}},
		Spec: v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "dns:1"}}}}
}

// TestCluster_NameClash: an ordinary pod has the name of a static pod. The first pod keeps the name and runs. A second
// ordinary pod fails, and a second static pod waits. The node records one event and does not loop. After the ordinary
// pod is removed, the static pod runs, and its mirror pod stays.
func TestCluster_NameClash(t *testing.T) {
	for _, c := range []struct {
		first    string
		ordinary v1.PodPhase
	}{{"ordinary", v1.PodRunning}, {"static", v1.PodFailed}} {
		t.Run(c.first, func(t *testing.T) {
			h := simulate(t, 1)
			h.start()
			if c.first == "ordinary" {
				h.bind("dns-n1")
				h.after(5 * time.Second)
				require.NoError(t, h.static.Apply(dns()))
			} else {
				h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "pods", Times: 2, Err: apierrors.NewForbidden(v1.Resource("pods"), "dns-n1", nil)})
				require.NoError(t, h.static.Apply(dns()))
				h.after(time.Second)
				h.bind("dns-n1")
			}
			h.after(20 * time.Minute)
			assert.Equal(t, c.ordinary, h.phase("dns-n1"))
			assert.Equal(t, "dns-n1/c attempt 0", h.running())
			clashes := func() (n int32) {
				for _, e := range h.server.Admin().Events() {
					if e.Reason == mirror.ReasonNameTaken || e.Reason == "NameConflict" {
						n += e.Count
					}
				}
				return n
			}
			assert.EqualValues(t, 1, clashes())
			h.server.TakeRequests()
			h.after(20 * time.Minute)
			for _, r := range h.server.TakeRequests() {
				if r.Verb != "watch" {
					assert.NotContains(t, []string{"pods", "pods/status", "events"}, r.Resource, "%s", r)
				}
			}
			h.delete("dns-n1", nil)
			h.after(15 * time.Second)
			mirrored := h.server.Admin().Pod("default", "dns-n1")
			require.True(t, podmanager.IsMirrorPod(mirrored))
			assert.Equal(t, v1.PodRunning, mirrored.Status.Phase)
			h.after(20 * time.Minute)
			assert.Equal(t, mirrored.UID, h.server.Admin().Pod("default", "dns-n1").UID)
			assert.Equal(t, "dns-n1/c attempt 0", h.running())
			assert.EqualValues(t, 1, clashes())
		})
	}
}

// TestCluster_StaticPod: it has a mirror pod with its status, and both go together.
func TestCluster_StaticPod(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	h.after(time.Second)
	require.NoError(t, h.static.Apply(dns()))
	h.after(time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("dns-n1"))
	for range 3 {
		before := h.server.Admin().Pod("default", "dns-n1").UID
		h.delete("dns-n1", nil)
		h.after(time.Second)
		assert.Equal(t, v1.PodRunning, h.phase("dns-n1"))
		assert.NotEqual(t, before, h.server.Admin().Pod("default", "dns-n1").UID)
	}
	assert.Equal(t, "dns-n1/c attempt 0", h.running())
	h.static.Delete("s")
	h.after(time.Minute)
	assert.Equal(t, v1.PodPhase("gone"), h.phase("dns-n1"))
	assert.Empty(t, h.running())
}

// TestCluster_StaticPodChanges: another static pod of the name takes over from the one before.
// Its mirror pod has its status, whichever of the two the node reports last.
func TestCluster_StaticPodChanges(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	for i := range 5 {
		pod := dns()
		pod.UID = types.UID(fmt.Sprint("s", i))
		pod.Annotations[podmanager.ConfigHashAnnotation] = string(pod.UID)
		pod.Spec.Containers[0].Image = fmt.Sprint("dns:", i)
		require.NoError(t, h.static.Replace([]*v1.Pod{pod}))
		h.after(45 * time.Second)
		mirror := h.server.Admin().Pod("default", "dns-n1")
		assert.Equal(t, pod.Spec.Containers[0].Image, mirror.Spec.Containers[0].Image)
		assert.Equal(t, v1.PodRunning, mirror.Status.Phase, pod.UID)
	}
}

// TestCluster_Silence: an outage, lost histories and refusals terminate no pod, and soon afterwards all statuses
// are reported.
func TestCluster_Silence(t *testing.T) {
	h := simulate(t, 1)
	h.bind("web")
	h.start()
	h.after(5 * time.Second)
	h.server.Down()
	h.after(10 * time.Minute)
	assert.Equal(t, "web/c attempt 0", h.running())
	h.server.Compact()
	h.bind("late")
	h.server.Up()
	h.after(35 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("late"))
	for range 3 {
		h.server.Compact()
		h.server.Break(nil)
		h.after(10 * time.Second)
	}
	h.delete("late", nil)
	h.after(time.Minute)
	assert.Equal(t, v1.PodPhase("gone"), h.phase("late"))
	assert.Equal(t, "web/c attempt 0", h.running())
	h.crash()
	h.server.Down()
	h.start()
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 0", h.running(), "a node that starts without a server ends nothing")
	h.server.Up()
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 0", h.running())
	require.NoError(t, h.node.Node().Health().Err)
}

// A second Run would drive the same node twice; a source named api would replace the server's.
func TestCluster_RefusesASecondOfEither(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	h.after(time.Second)
	h.server.TakeRequests()
	assert.EqualError(t, h.node.Run(t.Context()), "cluster: "+runtime.ErrSecondRun.Error())
	h.after(time.Second)
	assert.Empty(t, h.server.TakeRequests())
	_, err := cluster.New(cluster.Config{Server: h.server.Client("n1"), Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"api": source.NewHandle()}}}})
	assert.EqualError(t, err, "cluster: Config.Node.Pods.Sources has a source named api, which is the API server's")
}

// TestCluster_KilledAtRandom: node and server are killed at random while pods are created and deleted.
// In the end the machine runs each bound pod once, and no pod was restarted. No status of a pod has gone backwards at
// the server. Each object that a bound pod refers to has one watch, and no other object has one.
func TestCluster_KilledAtRandom(t *testing.T) {
	for seed := range uint64(longtest.Count(6, 25)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := simulate(t, seed)
			h.start()
			order := map[v1.PodPhase]int{"": 0, v1.PodPending: 0, v1.PodRunning: 1, v1.PodSucceeded: 2, v1.PodFailed: 2}
			phases := map[types.UID]v1.PodPhase{}
			down := false
			for i := range 40 {
				name := fmt.Sprint("p", int(h.Float64()*4))
				switch roll, pod := h.Float64(), h.server.Admin().Pod("default", name); {
				case pod == nil && roll < 0.7:
					h.configMap(name, "1")
					h.bind(name, mount(name, ""))
				case roll < 0.2:
					h.delete(name, nil)
				case roll < 0.3 && pod != nil:
					h.delete(name, new(int64))
					h.bind(name)
				case roll < 0.45:
					h.crash()
					h.start()
				case roll < 0.6:
					h.server.Crash()
					h.server.Recover()
				case roll < 0.7 && !down:
					h.server.Down()
					down = true
				case down:
					h.server.Up()
					down = false
				case roll < 0.8:
					h.server.Compact()
					h.server.Break(nil)
				}
				h.after(time.Duration(h.Float64() * float64(5*time.Second)))
				for _, pod := range h.server.Admin().Pods("n1") {
					assert.GreaterOrEqual(t, order[pod.Status.Phase], order[phases[pod.UID]], "step %d: %s after %s", i, pod.Status.Phase, phases[pod.UID])
					phases[pod.UID] = pod.Status.Phase
				}
			}
			h.server.Up()
			h.server.Break(nil) // Connections of nodes that were killed are still open.
			h.after(3 * time.Minute)
			var want, watched []string
			for _, pod := range h.server.Admin().Pods("n1") {
				assert.Equal(t, v1.PodRunning, pod.Status.Phase, pod.Name)
				assert.Nil(t, pod.DeletionTimestamp, pod.Name)
				want = append(want, pod.Name+"/c attempt 0")
				if len(pod.Spec.Volumes) > 0 {
					watched = append(watched, "configmaps "+pod.Name)
				}
			}
			assert.ElementsMatch(t, watched, h.followed())
			assert.ElementsMatch(t, strings.Split(strings.Join(want, ", "), ", "), strings.Split(h.running(), ", "))
		})
	}
}

// KB-4: an outage, however long, is over for everything that talks to the server within five
// seconds of its first answer: the mirror pod of a static pod that came meanwhile is there, and the
// token of a running pod is new.
func TestCluster_KB4_AllPausesEndWithTheFirstAnswer(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	_, err := h.server.Admin().Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}})
	require.NoError(t, err)
	web := h.bind("web", withToken)
	h.start()
	h.after(5 * time.Second)
	before := h.read(web, "t/token")
	h.server.Down()
	require.NoError(t, h.static.Apply(dns()))
	h.after(55*time.Minute + 10*time.Second)
	require.Equal(t, before, h.read(web, "t/token"))
	h.server.Up()
	for h.node.State().Failures > 0 {
		h.after(10 * time.Millisecond)
	}
	h.after(5 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("dns-n1"))
	assert.NotEqual(t, before, h.read(web, "t/token"))
}

// unlisted is a runtime that cannot list its images, and tells its version.
type unlisted struct {
	runtime.Runtime
	version string
	broken  bool
}

func (u *unlisted) ListImages(ctx context.Context) ([]runtime.Image, error) {
	if u.broken {
		return nil, errors.New("the content store is damaged")
	}
	return u.Runtime.ListImages(ctx)
}

func (u *unlisted) Features() runtime.Features { return runtime.Features{Versioner: u} }

func (u *unlisted) Version(context.Context) (name, version string, err error) {
	return "fake", u.version, nil
}

// ND-16, ND-19: a runtime that cannot list its images is there all the same; one that was upgraded
// is shown with its new version.
func TestCluster_ND16_ND19_ImagesThatCannotBeListed(t *testing.T) {
	h := simulate(t, 1)
	broken := &unlisted{Runtime: h.machine, version: "1", broken: true}
	h.runtime = broken
	h.start()
	h.after(5 * time.Minute)
	assert.Equal(t, v1.ConditionTrue, h.ready())
	assert.Equal(t, "fake://1", h.server.Admin().Node("n1").Status.NodeInfo.ContainerRuntimeVersion)
	broken.broken, broken.version = false, "2"
	h.after(2 * time.Minute)
	assert.Equal(t, "fake://2", h.server.Admin().Node("n1").Status.NodeInfo.ContainerRuntimeVersion)
}
