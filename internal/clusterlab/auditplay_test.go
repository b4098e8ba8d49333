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

// kubelet is the kubelet of kubemark.
func kubelet(c *clusterlab.Cluster) *auditSide {
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

// podkeel is this library with a runtime in memory.
func podkeel(t *testing.T, c *clusterlab.Cluster) *auditSide {
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

func (p *player) name(base string) string { return p.story + "." + base + "-" + p.node }

func never(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever }

func (p *player) create(base string, edit ...func(*v1.Pod)) {
	p.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.name(base)},
		Spec:       v1.PodSpec{NodeName: p.node, Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	}
	for _, edit := range edit {
		edit(pod)
	}
	_, err := p.admin.Create(p.Context(), pod)
	require.NoError(p, err)
}

func (p *player) config(base string) {
	_, err := p.admin.Create(p.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.name(base)}, Data: map[string]string{"k": "v"}})
	require.NoError(p, err)
}

func (p *player) secret(base string) {
	_, err := p.admin.Create(p.Context(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.name(base)}, StringData: map[string]string{"k": "v"}})
	require.NoError(p, err)
}

// withVolumes gives a pod a ConfigMap and a Secret beside the token that the server adds.
func (p *player) withVolumes(pod *v1.Pod) {
	pod.Spec.Volumes = []v1.Volume{
		{Name: "a", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: p.name("config")}}}},
		{Name: "b", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: p.name("secret")}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "a", MountPath: "/a"}, {Name: "b", MountPath: "/b"}}
}

// get is a pod; nil if there is none.
func (p *player) get(base string) *v1.Pod {
	p.Helper()
	pod, err := p.admin.Get(p.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.name(base)}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(p, err)
	return pod.(*v1.Pod)
}

// auditLimit bounds each wait.
const auditLimit = 45 * time.Second

// wait asks until it is so.
func (p *player) wait(what string, ok func() bool) {
	p.Helper()
	for end := time.Now().Add(auditLimit); !ok(); time.Sleep(50 * time.Millisecond) {
		require.True(p, time.Now().Before(end), "%s", what)
	}
}

// until waits until there is a pod and it is so.
func (p *player) until(base, what string, ok func(*v1.Pod) bool) {
	p.Helper()
	var pod *v1.Pod
	defer func() {
		if p.Failed() {
			p.Logf("%v", pod)
		}
	}()
	p.wait(base+": "+what, func() bool { pod = p.get(base); return pod != nil && ok(pod) })
}

func ready(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

func (p *player) running(base string) {
	p.Helper()
	p.until(base, "Running", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning && ready(pod) })
}

func (p *player) phase(base string, phase v1.PodPhase) {
	p.Helper()
	p.until(base, string(phase), func(pod *v1.Pod) bool { return pod.Status.Phase == phase })
}

func (p *player) gone(base string) {
	p.Helper()
	p.wait(base+" is gone", func() bool { return p.get(base) == nil })
}

func (p *player) delete(base string, grace int64) {
	p.Helper()
	require.NoError(p, p.admin.Delete(p.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.name(base)}}, &grace))
}

// exit waits for a container and has it end with code 0.
func (p *player) exit(base, container string) {
	p.Helper()
	p.wait(base+"/"+container+" runs", func() bool {
		done, err := p.exitOnce(p.Context(), p.name(base), container)
		require.NoError(p, err)
		return done
	})
}

func (p *player) editStatus(base string, edit func(*v1.PodStatus)) {
	p.Helper()
	require.NoError(p, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod := p.get(base)
		edit(&pod.Status)
		_, err := p.admin.UpdateStatus(p.Context(), pod)
		return err
	}))
}

// evict asks for an eviction, as kubectl drain does.
func (p *player) evict(base string) {
	p.Helper()
	path := filepath.Join(p.TempDir(), "eviction.json")
	text := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":"default","name":%q},"deleteOptions":{"gracePeriodSeconds":2}}`, p.name(base))
	require.NoError(p, os.WriteFile(path, []byte(text), 0o600))
	p.kubectl("create", "--raw", "/api/v1/namespaces/default/pods/"+p.name(base)+"/eviction", "-f", path)
}

// static writes the manifest of a static pod, or removes it.
func (p *player) static(base, image string) {
	p.Helper()
	name := strings.TrimSuffix(p.name(base), "-"+p.node) // The node's name is added to it.
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

// reboot has the node go, with all containers, and come again.
func (p *player) reboot() {
	p.Helper()
	p.stop()
	p.start(p.T)
}

// nodeReady waits until the node is, and the server's taint for nodes that are not is
// taken away, as the controllers would.
func (p *player) nodeReady() {
	p.Helper()
	p.wait("the node is Ready", func() bool {
		n, err := p.admin.Get(p.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.node}})
		return err == nil && slices.ContainsFunc(n.(*v1.Node).Status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
		})
	})
	p.editNode(func(n *v1.Node) { n.Spec.Taints = nil })
}
