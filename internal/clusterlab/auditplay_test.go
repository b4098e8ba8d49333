package clusterlab_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	joined "github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/node"
)

// auditSide is one of the two nodes.
type auditSide struct {
	node      string
	lab       *clusterlab.Cluster
	admin     *clusterlab.Admin
	kubectl   func(args ...string) string
	start     func(*testing.T) // with an empty machine
	stop      func()           // does nothing if it does not run
	exitOnce  func(ctx context.Context, pod, container string) (bool, error)
	manifests func() string
}

// newKubeletSide returns the node of kubemark's kubelet.
func newKubeletSide(c *clusterlab.Cluster) *auditSide {
	var k *clusterlab.Kubemark
	s := &auditSide{node: "kubelet"}
	s.start = func(t *testing.T) {
		var err error
		k, err = c.StartKubemark(t.Context(), s.node)
		require.NoError(t, err)
	}
	s.stop = func() {
		if k != nil { // Its start may have failed.
			k.Stop()
			k = nil
		}
	}
	s.exitOnce = func(ctx context.Context, pod, container string) (bool, error) { return k.Exit(ctx, pod, container) }
	s.manifests = func() string { return k.Manifests() }
	return s
}

// newPodkeelSide returns the node of this library, with a runtime in memory.
func newPodkeelSide(t *testing.T, c *clusterlab.Cluster) *auditSide {
	s, dir := &auditSide{node: "podkeel", stop: func() {}}, t.TempDir()
	var machine *memory.Runtime
	s.start = func(t *testing.T) {
		machine = memory.New(memory.Config{})
		server, err := client.New(c.Rest(s.node), s.node)
		require.NoError(t, err)
		static, err := manifest.New(manifest.Config{Path: dir, NodeName: s.node})
		require.NoError(t, err)
		n, err := joined.New(joined.Config{Server: server, Node: node.Config{
			Name: s.node, Runtime: machine, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": static}, OrphanGrace: -1},
		}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		s.stop = func() {
			cancel()
			assert.NoError(t, <-done)
			server.Reconnect()
			s.stop = func() {}
		}
	}
	s.exitOnce = func(_ context.Context, name, container string) (bool, error) {
		for _, pod := range machine.Snapshot() {
			for _, c := range pod.Containers {
				if pod.Name == name && c.Name == container && c.State == runtime.StateRunning {
					return true, machine.ExitContainer(c.ID, 0)
				}
			}
		}
		return false, nil
	}
	s.manifests = func() string { return dir }
	return s
}

// player plays one story on one of them.
type player struct {
	*auditSide
	*testing.T
	story string
}

func (p *player) podName(base string) string { return p.story + "." + base + "-" + p.node }

func setRestartNever(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever }

func (p *player) createPod(base string, edit ...func(*v1.Pod)) {
	p.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.podName(base)},
		Spec:       v1.PodSpec{NodeName: p.node, Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	}
	for _, edit := range edit {
		edit(pod)
	}
	_, err := p.admin.Create(p.Context(), pod)
	require.NoError(p, err)
}

func (p *player) createConfigMap(base string) {
	_, err := p.admin.Create(p.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.podName(base)}, Data: map[string]string{"k": "v"}})
	require.NoError(p, err)
}

func (p *player) createSecret(base string) {
	_, err := p.admin.Create(p.Context(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.podName(base)}, StringData: map[string]string{"k": "v"}})
	require.NoError(p, err)
}

// withVolumes gives a pod a ConfigMap and a Secret beside the token that the server adds.
func (p *player) withVolumes(pod *v1.Pod) {
	pod.Spec.Volumes = []v1.Volume{
		{Name: "a", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: p.podName("config")}}}},
		{Name: "b", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: p.podName("secret")}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "a", MountPath: "/a"}, {Name: "b", MountPath: "/b"}}
}

// getPod returns a pod, or nil if it does not exist.
func (p *player) getPod(base string) *v1.Pod {
	p.Helper()
	pod, err := p.admin.Get(p.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.podName(base)}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(p, err)
	return pod.(*v1.Pod)
}

// auditLimit bounds each wait.
const auditLimit = 45 * time.Second

// waitFor waits until ok returns true. It fails the test after auditLimit.
func (p *player) waitFor(what string, ok func() bool) {
	p.Helper()
	for end := time.Now().Add(auditLimit); !ok(); time.Sleep(50 * time.Millisecond) {
		require.True(p, time.Now().Before(end), "%s", what)
	}
}

// waitForPod waits until a pod exists and ok returns true for it.
func (p *player) waitForPod(base, what string, ok func(*v1.Pod) bool) {
	p.Helper()
	var pod *v1.Pod
	defer func() {
		if p.Failed() {
			p.Logf("%v", pod)
		}
	}()
	p.waitFor(base+": "+what, func() bool { pod = p.getPod(base); return pod != nil && ok(pod) })
}

func (p *player) waitForRunning(base string) {
	p.Helper()
	p.waitForPod(base, "Running", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning && isPodReady(pod) })
}

func (p *player) waitForPhase(base string, phase v1.PodPhase) {
	p.Helper()
	p.waitForPod(base, string(phase), func(pod *v1.Pod) bool { return pod.Status.Phase == phase })
}

func (p *player) waitForGone(base string) {
	p.Helper()
	p.waitFor(base+" is gone", func() bool { return p.getPod(base) == nil })
}

func (p *player) deletePod(base string, grace int64) {
	p.Helper()
	require.NoError(p, p.admin.Delete(p.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.podName(base)}}, &grace))
}

// exitContainer waits until a container runs, and makes it exit with code 0.
func (p *player) exitContainer(base, container string) {
	p.Helper()
	p.waitFor(base+"/"+container+" runs", func() bool {
		done, err := p.exitOnce(p.Context(), p.podName(base), container)
		require.NoError(p, err)
		return done
	})
}

func (p *player) editStatus(base string, edit func(*v1.PodStatus)) {
	p.Helper()
	require.NoError(p, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod := p.getPod(base)
		edit(&pod.Status)
		_, err := p.admin.UpdateStatus(p.Context(), pod)
		return err
	}))
}

// evictPod requests an eviction, as kubectl drain does.
func (p *player) evictPod(base string) {
	p.Helper()
	path := filepath.Join(p.TempDir(), "eviction.json")
	text := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":"default","name":%q},"deleteOptions":{"gracePeriodSeconds":2}}`, p.podName(base))
	require.NoError(p, os.WriteFile(path, []byte(text), 0o600))
	p.kubectl("create", "--raw", "/api/v1/namespaces/default/pods/"+p.podName(base)+"/eviction", "-f", path)
}

// writeStaticPod writes the manifest of a static pod. Without an image it removes the manifest.
func (p *player) writeStaticPod(base, image string) {
	p.Helper()
	name := strings.TrimSuffix(p.podName(base), "-"+p.node) // The node's name is added to it.
	path := filepath.Join(p.manifests(), name+".yaml")
	if image == "" {
		require.NoError(p, os.Remove(path))
		return
	}
	text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: default}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers: [{name: c, image: %q}]\n", name, image)
	temporary := filepath.Join(p.TempDir(), "manifest")
	require.NoError(p, os.WriteFile(temporary, []byte(text), 0o600))
	require.NoError(p, os.Rename(temporary, path))
}

func (p *player) nodeObject() *v1.Node {
	p.Helper()
	n, err := p.admin.Get(p.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.node}})
	require.NoError(p, err)
	return n.(*v1.Node)
}

func (p *player) editNode(edit func(*v1.Node)) {
	p.Helper()
	require.NoError(p, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n := p.nodeObject()
		edit(n)
		_, err := p.admin.Update(p.Context(), n)
		return err
	}))
}

// deleteNode deletes the node's object.
func (p *player) deleteNode() {
	p.Helper()
	require.NoError(p, p.admin.Delete(p.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.node}}, nil))
}

// restartNode stops the node with all its containers, and starts it again.
func (p *player) restartNode() {
	p.Helper()
	p.stop()
	p.start(p.T)
}

// waitForNodeReady waits until the node is Ready. Then it removes the taints of the node, as the controllers would.
func (p *player) waitForNodeReady() {
	p.Helper()
	p.waitFor("the node is Ready", func() bool {
		n, err := p.admin.Get(p.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.node}})
		return err == nil && slices.ContainsFunc(n.(*v1.Node).Status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
		})
	})
	p.editNode(func(n *v1.Node) { n.Spec.Taints = nil })
}
