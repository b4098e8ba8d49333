package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// disk gives the node volumes on a disk.
func (h *harness) disk() {
	root := h.TempDir()
	h.volumes = func(n node.Config) (podsync.Volumes, podsync.Files, error) {
		dir, err := volumes.New(volumes.Config{Root: root, Objects: n.Volumes.Objects, Tokens: n.Volumes.Tokens, Claims: n.Volumes.Claims})
		return dir, dir, err
	}
	h.read = func(pod *v1.Pod, file string) string {
		text, err := os.ReadFile(filepath.Join(root, "pods", string(pod.UID), "volumes", file))
		if err != nil {
			return "no file"
		}
		return string(text)
	}
}

// mount is a pod that mounts a ConfigMap, as volume c, and a Secret, as volume s.
func mount(configMap, secret string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		add := func(name string, source v1.VolumeSource) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: source})
			pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
		}
		add("c", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: configMap}}})
		if secret != "" {
			add("s", v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: secret}})
		}
	}
}

func (h *harness) configMap(name, value string) {
	h.Helper()
	cm := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"k": value}}
	if _, err := h.server.Admin().Update(h.Context(), cm); err != nil {
		_, err = h.server.Admin().Create(h.Context(), cm)
		require.NoError(h, err)
	}
}

// followed are the open watches of objects that pods name.
func (h *harness) followed() []string {
	list := []string{}
	for _, r := range h.server.Watches() {
		if r.Resource == "configmaps" || r.Resource == "secrets" {
			list = append(list, r.Resource+" "+r.Name)
		}
	}
	return list
}

// asked are the requests for such objects since the last call.
func (h *harness) asked() []string {
	list := []string{}
	for _, r := range h.server.TakeRequests() {
		if r.Resource == "configmaps" || r.Resource == "secrets" {
			list = append(list, r.String())
		}
	}
	return list
}

// until is how long it takes until something is so, to 10 ms.
func (h *harness) until(so func() bool) time.Duration {
	h.Helper()
	begun := h.Now()
	for !so() {
		require.Less(h, h.Now().Sub(begun), 5*time.Minute, "in vain")
		h.after(10 * time.Millisecond)
	}
	return h.Now().Sub(begun)
}

// refused is a server that does not know the pod yet.
func refused(resource string) apiservertest.Fault {
	return apiservertest.Fault{Resource: resource, Err: apierrors.NewForbidden(v1.Resource(resource), "", nil)}
}

// VC-2, VC-3, VC-8: an update reaches the files of all running pods that mount the object within
// ten seconds; each object is watched once, from the first pod to the last.
func TestCluster_VC2_VC3_VC8_UpdatesReachFiles(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.configMap("conf", "1")
	_, err := h.server.Admin().Create(t.Context(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"}, Data: map[string][]byte{"k": []byte("x")}})
	require.NoError(t, err)
	a, b := h.bind("a", mount("conf", "key")), h.bind("b", mount("conf", ""))
	h.start()
	h.after(5 * time.Second)
	assert.Equal(t, []string{"1", "x", "1"}, []string{h.read(a, "c/k"), h.read(a, "s/k"), h.read(b, "c/k")})
	assert.ElementsMatch(t, []string{"watch configmaps default/conf", "watch secrets default/key"}, h.asked())
	assert.ElementsMatch(t, []string{"configmaps conf", "secrets key"}, h.followed())
	for _, value := range []string{"2", "3"} {
		h.after(7 * time.Minute)
		h.configMap("conf", value)
		took := h.until(func() bool { return h.read(a, "c/k") == value && h.read(b, "c/k") == value })
		assert.Equal(t, 10*time.Millisecond, took)
	}
	assert.Empty(t, h.asked(), "nothing is read again")

	h.server.Crash()
	h.configMap("conf", "4")
	h.after(time.Minute)
	assert.Equal(t, "3", h.read(a, "c/k"))
	h.server.Recover()
	assert.Less(t, h.until(func() bool { return h.read(a, "c/k") == "4" }), 10*time.Second)
	h.after(time.Minute)

	h.delete("a", nil)
	h.after(time.Minute)
	assert.Equal(t, []string{"configmaps conf"}, h.followed())
	h.delete("b", new(int64))
	h.after(time.Minute)
	assert.Empty(t, h.followed())
	assert.Equal(t, "a is gone, b is gone", fmt.Sprintf("a is %s, b is %s", h.phase("a"), h.phase("b")))
}

// withToken is a pod with a token of its account for an hour, as volume t.
func withToken(pod *v1.Pod) {
	pod.Spec.ServiceAccountName = "default"
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "t", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		Sources: []v1.VolumeProjection{{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}}},
	}}})
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "t", MountPath: "/t"})
}

// VC-17, VC-23: in a day a running pod always has a token in its file with more than a tenth of its
// time left, and each token is asked for once. A pod that has ended gets no more of them.
func TestCluster_VC17_VC23_TokensForADay(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.resync = 12 * time.Hour // Syncs replace none.
	_, err := h.server.Admin().Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}})
	require.NoError(t, err)
	web := h.bind("web", withToken)
	h.bind("job", withToken, func(pod *v1.Pod) {
		pod.Spec.RestartPolicy, pod.Spec.Containers[0].Command = v1.RestartPolicyNever, []string{"true"}
	})
	h.start()
	h.after(5 * time.Second)
	const life, step = 3607 * time.Second, time.Minute
	var last string
	var oldest time.Duration
	begun, since, tokens := h.Now(), h.Now(), 0
	for h.Now().Sub(begun) < 24*time.Hour {
		if token := h.read(web, "t/token"); token != last {
			last, since, tokens = token, h.Now(), tokens+1
		}
		oldest = max(oldest, h.Now().Sub(since))
		switch h.Now().Sub(begun) {
		case 5 * time.Hour:
			h.server.Crash()
		case 5*time.Hour + 40*time.Minute:
			h.server.Recover()
		}
		h.after(step)
	}
	assert.Equal(t, v1.PodSucceeded, h.phase("job"))
	assert.NotEqual(t, "no file", last)
	assert.Less(t, oldest, life*9/10)
	assert.Equal(t, 30, tokens)
	asked := 0
	for _, r := range h.server.TakeRequests() {
		if r.Resource == "serviceaccounts/token" && r.Code == http.StatusOK {
			asked++
		}
	}
	assert.Equal(t, tokens+1, asked, "one of them for the job")
	assert.Equal(t, "web/c attempt 0", h.running())
}

// VC-9: a pod starts as soon as an object appears that it waited for, also if the server was
// away when it was bound.
func TestCluster_VC9_StartsWhenTheObjectAppears(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.bind("web", mount("conf", ""))
	h.start()
	h.after(10 * time.Minute)
	assert.Equal(t, v1.PodPending, h.phase("web"))
	assert.Equal(t, []string{"watch configmaps default/conf"}, h.asked(), "it is watched, not asked for again")
	h.configMap("conf", "1")
	assert.Equal(t, 10*time.Millisecond, h.until(func() bool { return h.phase("web") == v1.PodRunning }))

	clear := h.server.Inject(refused("configmaps"))
	h.configMap("other", "1")
	h.bind("late", mount("other", ""))
	h.after(5 * time.Minute)
	assert.Equal(t, v1.PodPending, h.phase("late"))
	clear()
	assert.Less(t, h.until(func() bool { return h.phase("late") == v1.PodRunning }), time.Minute)
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 0, late/c attempt 0", h.running())
}

// TestCluster_VC8_DeletedObject: the files of a deleted ConfigMap stay, and a container that exits is restarted. After a
// restart of the node the pod needs the ConfigMap again, as with a kubelet.
func TestCluster_VC8_DeletedObject(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.configMap("conf", "1")
	web := h.bind("web", mount("conf", ""))
	h.start()
	h.after(5 * time.Second)
	require.NoError(t, h.server.Admin().Delete(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "conf"}}, nil))
	h.after(5 * time.Second)
	h.stopFirst("web")
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 1", h.running())
	assert.Equal(t, "1", h.read(web, "c/k"))
	h.crash()
	h.start()
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 1", h.running())
	h.stopFirst("web")
	h.after(time.Minute)
	assert.Empty(t, h.running())
	h.configMap("conf", "2")
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 2", h.running())
}

// A pod that is removed and created again under one UID keeps its watch; after a restart
// the node follows the objects that its pods refer to.
func TestCluster_VC3_WatchesOfARestartedNode(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.configMap("conf", "1")
	web := h.bind("web", mount("conf", ""))
	h.start()
	h.after(5 * time.Second)
	h.crash()
	h.server.Break(nil)
	assert.Empty(t, h.followed())
	h.configMap("conf", "2")
	h.start()
	h.after(5 * time.Second)
	assert.Equal(t, []string{"configmaps conf"}, h.followed())
	assert.Equal(t, "2", h.read(web, "c/k"))
	assert.Equal(t, "web/c attempt 0", h.running())
}

// requests notes what the node asks of the machine.
type requests struct {
	*memory.Runtime
	env      map[string]string // of the container that was created last
	handlers []string          // of the sandboxes
}

func (r *requests) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	r.handlers = append(r.handlers, req.Pod.Name+" by "+req.Handler)
	return r.Runtime.RunSandbox(ctx, req)
}

func (r *requests) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	r.env = map[string]string{}
	for _, v := range req.Env {
		r.env[v.Name] = v.Value
	}
	return r.Runtime.CreateContainer(ctx, req)
}

// VC-30, VC-31: containers have the variables of services, and none is created before these were
// read once. A restarted container has the current services.
func TestCluster_VC30_VC31_ServiceVariables(t *testing.T) {
	h := simulate(t, 1)
	seen := &requests{Runtime: h.machine}
	h.runtime = seen
	service := func(name, ip string) {
		_, err := h.server.Admin().Create(t.Context(), &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       v1.ServiceSpec{ClusterIP: ip, Ports: []v1.ServicePort{{Port: 443}}},
		})
		require.NoError(t, err)
	}
	service("kubernetes", "10.0.0.1")
	clear := h.server.Inject(refused("services"))
	web := h.bind("web")
	h.start()
	h.after(5 * time.Minute)
	assert.Equal(t, v1.PodPending, h.phase("web"))
	assert.Empty(t, h.running())
	waiting := h.server.Admin().Pod("default", "web").Status.ContainerStatuses[0].State.Waiting
	assert.Equal(t, "CreateContainerConfigError: the services were not read yet: context deadline exceeded", waiting.Reason+": "+waiting.Message)
	clear()
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 0", h.running())
	assert.Equal(t, []string{"10.0.0.1", "443", ""}, []string{seen.env["KUBERNETES_SERVICE_HOST"], seen.env["KUBERNETES_SERVICE_PORT"], seen.env["DB_SERVICE_HOST"]})
	service("db", "10.0.0.7")
	h.after(time.Minute)
	assert.Equal(t, "web/c attempt 0", h.running(), "a container keeps its variables")
	require.NoError(t, h.server.Admin().Delete(t.Context(), web, new(int64)))
	h.bind("web", func(pod *v1.Pod) { pod.Spec.EnableServiceLinks = new(true) })
	h.after(20 * time.Second)
	assert.Equal(t, "10.0.0.7", seen.env["DB_SERVICE_HOST"])
}

// A pod with an unknown runtime class is Pending, and its status has the reason. It starts with the handler of the
// class as soon as the class exists. A running pod continues without its class, but gets no new sandbox.
func TestCluster_RuntimeClass(t *testing.T) {
	h := simulate(t, 1)
	seen := &requests{Runtime: h.machine}
	h.runtime = seen
	h.bind("plain")
	h.bind("web", func(pod *v1.Pod) { pod.Spec.RuntimeClassName = new("kata") })
	h.start()
	h.after(time.Minute)
	assert.Equal(t, v1.PodPending, h.phase("web"))
	status := h.server.Admin().Pod("default", "web").Status
	assert.Contains(t, status.Reason+" "+status.Message, `spec.runtimeClassName (the class "kata" is not known)`)
	assert.Equal(t, []string{"plain by "}, seen.handlers)
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "qemu"}
	_, err := h.server.Admin().Create(t.Context(), class)
	require.NoError(t, err)
	assert.Less(t, h.until(func() bool { return h.phase("web") == v1.PodRunning }), time.Second)
	assert.Equal(t, []string{"plain by ", "web by qemu"}, seen.handlers)
	require.NoError(t, h.server.Admin().Delete(t.Context(), class, nil))
	h.after(5 * time.Minute)
	assert.Equal(t, "plain/c attempt 0, web/c attempt 0", h.running())
	pods, err := h.machine.ListPods(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.machine.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: pods[1].Sandboxes[0].ID}))
	h.after(5 * time.Minute)
	assert.Equal(t, "plain/c attempt 0", h.running())
	assert.Len(t, seen.handlers, 2, "never by another handler")
	_, err = h.server.Admin().Create(t.Context(), class)
	require.NoError(t, err)
	h.after(5 * time.Minute)
	assert.Equal(t, []string{"plain by ", "web by qemu", "web by qemu"}, seen.handlers)
}

// A handler in the node's own configuration wins over the handler of the cluster's runtime class.
func TestCluster_RuntimeClass_TheNodesOwnHandler(t *testing.T) {
	h := simulate(t, 1)
	seen := &requests{Runtime: h.machine}
	h.runtime = seen
	h.edit = func(n *node.Config) { n.Containers.Handlers = map[string]string{"kata": "local"} }
	_, err := h.server.Admin().Create(t.Context(), &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "qemu"})
	require.NoError(t, err)
	h.bind("web", func(pod *v1.Pod) { pod.Spec.RuntimeClassName = new("kata") })
	h.start()
	h.after(time.Minute)
	assert.Equal(t, []string{"web by local"}, seen.handlers)
}

// ND-22: the jitter of the node spreads what it reports.
func TestCluster_ND22_RoundsAreSpread(t *testing.T) {
	h := simulate(t, 1)
	h.edit = func(n *node.Config) { n.Jitter = func() float64 { return 0.5 } }
	h.start()
	h.after(10*time.Second + 190*time.Millisecond)
	renewals := func() (n int) {
		for _, r := range h.server.TakeRequests() {
			if r.Verb == "update" && r.Resource == "leases" {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 0, renewals())
	h.after(20 * time.Millisecond)
	assert.Equal(t, 1, renewals())
}

// TestCluster_VC11_StaticPodsReferToNoObjects: a static pod that refers to objects of the API server
// is refused, with one event that names them, and nothing is asked of the server for it.
func TestCluster_VC11_StaticPodsReferToNoObjects(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.configMap("conf", "1")
	h.start()
	h.after(time.Second)
	pod := dns()
	mount("conf", "key")(pod)
	pod.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "env"}}}}
	require.NoError(t, h.static.Apply(pod))
	h.after(10 * time.Minute)
	assert.Empty(t, h.running())
	assert.Empty(t, h.asked())
	var said []string
	for _, e := range h.server.Admin().Events() {
		if e.InvolvedObject.Kind == "Pod" {
			said = append(said, fmt.Sprintf("%s: %s (%d)", e.Reason, e.Message, e.Count))
		}
	}
	assert.Equal(t, []string{"StaticPodAPIReference: a static pod must not refer to objects of the API server: ConfigMap conf, Secret key, Secret env (1)"}, said)

	plain := dns()
	plain.Name, plain.UID = "plain", "plain"
	require.NoError(t, h.static.Apply(plain))
	h.after(10 * time.Second)
	assert.Contains(t, h.running(), "attempt 0", "another one runs")
}

// NA-3: a pod whose ConfigMap the server denies for a moment, as it has just bound the pod, starts as
// soon as it does no more.
func TestCluster_NA3_DeniedForAMoment(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	h.configMap("conf", "1")
	h.start()
	h.after(10 * time.Second)
	clear := h.server.Inject(refused("configmaps"))
	h.bind("web", mount("conf", ""))
	h.after(100 * time.Millisecond)
	clear()
	h.after(300 * time.Millisecond)
	assert.Equal(t, v1.PodRunning, h.phase("web"))
}
