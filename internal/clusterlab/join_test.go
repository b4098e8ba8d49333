package clusterlab_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	joined "github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/node"
)

// joinLimit bounds each wait. None takes long on an idle machine.
const joinLimit = 2 * time.Minute

// joint is a node in memory that is joined to a real control plane, and a client that
// watches beside it.
type joint struct {
	*testing.T
	lab     *clusterlab.Cluster
	admin   *clusterlab.Admin
	seen    *client.Client
	machine *memory.Runtime // nil: it has a real one
	runtime runtime.PodLister
	images  [2]string // that workloads are made of
	static  *source.Handle
	kubectl func(args ...string) string
}

func joinCluster(t *testing.T, edit ...func(*joined.Config)) *joint {
	return joinTo(t, startLab(t, clusterlab.Config{Nodes: []string{"n1"}}), edit...)
}

// joinTo joins a control plane.
func joinTo(t *testing.T, control *clusterlab.Cluster, edit ...func(*joined.Config)) *joint {
	j := &joint{T: t, lab: control, machine: memory.New(memory.Config{}), static: source.NewHandle()}
	j.runtime = j.machine
	var err error
	j.admin, err = j.lab.Admin()
	require.NoError(t, err)
	j.seen, err = client.New(j.lab.Rest("n1"), "n1")
	require.NoError(t, err)
	j.kubectl = newKubectl(t, j.lab)
	server, err := client.New(j.lab.Rest("n1"), "n1")
	require.NoError(t, err)
	config := joined.Config{Server: server, Node: node.Config{
		Name: "n1", Runtime: j.machine, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": j.static}, OrphanGrace: -1},
	}}
	for _, edit := range edit {
		edit(&config)
	}
	n, err := joined.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
		server.Reconnect()
		j.seen.Reconnect()
	})
	return j
}

// newKubectl returns a function that runs kubectl as the administrator and returns its output.
func newKubectl(t *testing.T, lab *clusterlab.Cluster) func(args ...string) string {
	command := kubectlCommand(t, lab)
	return func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), joinLimit)
		defer cancel()
		out, err := command(ctx, args...).CombinedOutput()
		require.NoError(t, err, "kubectl %v: %s", args, out)
		return string(out)
	}
}

// kubectlCommand makes commands of kubectl.
func kubectlCommand(t *testing.T, lab *clusterlab.Cluster) func(ctx context.Context, args ...string) *exec.Cmd {
	bin, err := clusterlab.Build(t.Context(), "kubectl")
	require.NoError(t, err)
	kubeconfig, err := lab.Kubeconfig("admin")
	require.NoError(t, err)
	return func(ctx context.Context, args ...string) *exec.Cmd {
		args = append([]string{"--kubeconfig=" + kubeconfig, "--cache-dir=" + filepath.Join(lab.Dir(), "kubectl")}, args...)
		return exec.CommandContext(ctx, filepath.Join(bin, "kubectl"), args...)
	}
}

// waitForObjects watches a feed until its objects satisfy ok. It opens a new watch when the server ends the old one.
func waitForObjects[T interface{ GetName() string }](t *testing.T, feed apiserver.Feed[T], what string, ok func(map[string]T) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), joinLimit)
	defer cancel()
	have := map[string]T{}
	for ctx.Err() == nil && !watchUntil(ctx, feed, have, ok) {
	}
	require.NoError(t, ctx.Err(), "%s: have %v", what, have)
}

// watchUntil watches a feed until ok returns true for its objects. It returns false if the stream ends before.
func watchUntil[T interface{ GetName() string }](ctx context.Context, feed apiserver.Feed[T], have map[string]T, ok func(map[string]T) bool) bool {
	stream, err := feed.Watch(ctx, apiserver.WatchOptions{SendInitialEvents: true})
	if err != nil {
		return false
	}
	defer stream.Close()
	clear(have)
	for complete := false; ; {
		e, err := stream.Next(ctx)
		if err != nil {
			return false
		}
		switch e.Type {
		case apiserver.Added, apiserver.Modified:
			have[e.Object.GetName()] = e.Object
		case apiserver.Deleted:
			delete(have, e.Object.GetName())
		}
		complete = complete || e.InitialEventsEnd
		if complete && ok(have) {
			return true
		}
	}
}

// createPod creates an ordinary pod that is bound to the node.
func (j *joint) createPod(name string, edit ...func(*v1.PodSpec)) types.UID {
	j.Helper()
	spec := v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "web:1"}}}
	for _, edit := range edit {
		edit(&spec)
	}
	pod, err := j.admin.Create(j.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec})
	require.NoError(j, err)
	return pod.GetUID()
}

// waitForRunning waits until the server shows exactly these pods, Running and ready.
func (j *joint) waitForRunning(names ...string) {
	j.Helper()
	waitForObjects(j.T, j.seen.PodFeed(), fmt.Sprint("Running: ", names), func(have map[string]*v1.Pod) bool {
		return len(have) == len(names) && !slices.ContainsFunc(names, func(name string) bool {
			pod := have[name]
			return pod == nil || pod.DeletionTimestamp != nil || pod.Status.Phase != v1.PodRunning ||
				!slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
		})
	})
}

// onMachine returns the running containers, with the UIDs of their pods.
func (j *joint) onMachine() map[types.UID]string {
	all := map[types.UID]string{}
	pods, err := j.runtime.ListPods(j.Context())
	require.NoError(j, err)
	for _, pod := range pods {
		for _, c := range pod.Containers {
			if pod.MayRun() && c.State == runtime.StateRunning {
				all[pod.UID] = fmt.Sprintf("%s/%s attempt %d", pod.Name, c.Name, c.Attempt)
			}
		}
	}
	return all
}

// TestJoin: a node joins a real server, and runs what kubectl asks for.
func TestJoin(t *testing.T) {
	j := joinCluster(t)
	began := time.Now()
	waitForObjects(t, j.seen.NodeFeed(), "node Ready", func(have map[string]*v1.Node) bool {
		return have["n1"] != nil && slices.ContainsFunc(have["n1"].Status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
		})
	})
	t.Logf("started to Ready: %v", time.Since(began).Round(time.Millisecond))
	assert.Contains(t, j.kubectl("get", "node", "n1", "--no-headers"), " Ready ")
	j.waitForRunning()

	began = time.Now()
	uid := j.createPod("web")
	j.waitForRunning("web")
	t.Logf("bound to Running: %v", time.Since(began).Round(time.Millisecond))
	lease, err := j.seen.Leases().Get(t.Context(), "n1")
	require.NoError(t, err)
	assert.Equal(t, "n1", *lease.Spec.HolderIdentity)
	pod, err := j.seen.Pods().Get(t.Context(), "default", "web")
	require.NoError(t, err)
	require.Len(t, pod.Spec.Volumes, 1, "the server adds the volume of the service account")
	assert.NotNil(t, pod.Spec.Volumes[0].Projected)
	assert.Contains(t, j.kubectl("get", "pod", "web", "--no-headers"), "Running")
	assert.Equal(t, map[types.UID]string{uid: "web/c attempt 0"}, j.onMachine())

	began = time.Now()
	j.kubectl("delete", "pod", "web", "--wait=false")
	j.waitForRunning()
	t.Logf("delete to gone: %v", time.Since(began).Round(time.Millisecond))
	assert.Empty(t, j.onMachine())

	j.kubectl("run", "again", "--image=web:1", `--overrides={"spec":{"nodeName":"n1"}}`)
	j.waitForRunning("again")
	j.kubectl("delete", "pod", "again", "--force", "--grace-period=0")
	uid = j.createPod("again")
	j.waitForRunning("again")
	j.kubectl("delete", "pod", "again")
	j.waitForRunning()
	assert.NotContains(t, j.onMachine(), uid)
}

// TestJoin_StaticPod: it has a mirror pod, again when that is deleted, and both go
// together.
func TestJoin_StaticPod(t *testing.T) {
	j := joinCluster(t)
	require.NoError(t, j.static.Apply(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "static", Namespace: "default", Name: "dns-n1"},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "dns:1"}}},
	}))
	j.waitForRunning("dns-n1")
	mirror, err := j.seen.Pods().Get(t.Context(), "default", "dns-n1")
	require.NoError(t, err)
	assert.Contains(t, mirror.Annotations, v1.MirrorPodAnnotationKey)
	j.kubectl("delete", "pod", "dns-n1", "--wait=false")
	began := time.Now()
	waitForObjects(t, j.seen.PodFeed(), "another mirror pod", func(have map[string]*v1.Pod) bool {
		return have["dns-n1"] != nil && have["dns-n1"].UID != mirror.UID && have["dns-n1"].Status.Phase == v1.PodRunning
	})
	t.Logf("mirror pod deleted to Running again: %v", time.Since(began).Round(time.Millisecond))
	assert.Equal(t, map[types.UID]string{"static": "dns-n1/c attempt 0"}, j.onMachine())
	j.static.Delete("static")
	j.waitForRunning()
	assert.Empty(t, j.onMachine())
}

// TestJoin_ServerKilled: the server is killed while pods are created and deleted. No pod is restarted, and in the
// end the machine runs the bound pods.
func TestJoin_ServerKilled(t *testing.T) {
	j := joinCluster(t)
	want := map[types.UID]string{}
	names := []string{"stay-0", "stay-1", "stay-2", "go-0"}
	bind := func(name string) { want[j.createPod(name)] = name + "/c attempt 0" }
	for _, name := range names {
		bind(name)
	}
	j.waitForRunning(names...)
	for round := range 3 {
		gone, come := fmt.Sprint("go-", round), fmt.Sprint("go-", round+1)
		bind(come)
		j.kubectl("delete", "pod", gone, "--wait=false")
		j.lab.KillServer()
		require.NoError(t, j.lab.StartServer(t.Context()))
		began := time.Now()
		names[3] = come
		j.waitForRunning(names...)
		t.Logf("server back to all told: %v", time.Since(began).Round(time.Millisecond))
		for uid, text := range want {
			if text == gone+"/c attempt 0" {
				delete(want, uid)
			}
		}
		assert.Equal(t, want, j.onMachine())
	}
}
