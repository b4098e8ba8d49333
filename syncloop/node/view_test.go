package node_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// seenNode is a node as a test says it is.
type seenNode struct {
	mu        sync.Mutex
	info      node.NodeInfo
	refreshes int
	panics    bool
}

func (s *seenNode) Node() node.NodeInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics {
		panic("boo")
	}
	return s.info
}

func (s *seenNode) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshes++
}

func (s *seenNode) setInfo(info node.NodeInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = info
}

// runJoinedNode runs a node with the pods of a Handle, which stands for an API server.
func runJoinedNode(t *testing.T, config node.Config) (*runningParts, *source.Handle) {
	t.Helper()
	api := source.NewHandle()
	config.Pods.Sources = map[string]source.Source{"api": api}
	return runConfig(t, config), api
}

func statusOf(n *runningParts, name string) v1.PodStatus {
	for _, p := range n.Pods() {
		if p.Name == name {
			return p.Status
		}
	}
	return v1.PodStatus{}
}

// rejections are the warnings about fields.
type rejections struct {
	ends
}

func (r *rejections) Event(o k8sruntime.Object, kind, reason, _ string) {
	if reason == "UnsupportedField" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, fmt.Sprint(o.(*v1.Pod).Name, " ", kind, " ", reason))
	}
}

// TestNode_Joined: a source named "api" takes the place of Apply, Replace and Delete, and
// its pods are no static ones.
func TestNode_Joined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n, api := runJoinedNode(t, node.Config{Runtime: machine})
		assert.ErrorIs(t, n.Apply(newPod("web", "serve")), node.ErrJoined)
		assert.ErrorIs(t, n.Replace(nil), node.ErrJoined)
		n.SetComplete()
		require.NoError(t, api.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		synctest.Wait()
		n.Delete("web")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		assert.Equal(t, v1.PodRunning, statusOf(n, "web").Phase)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_AD6_LabelsAreReadAgain: a pod that does not select the node waits until the
// labels were read after it was seen; only then is it rejected.
func TestNode_AD6_LabelsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		view := &seenNode{info: node.NodeInfo{ReadAt: time.Now()}}
		n, api := runJoinedNode(t, node.Config{Runtime: machine, Scheduling: node.SchedulingConfig{View: view}})
		time.Sleep(time.Second)
		synctest.Wait()
		for _, name := range []string{"disk", "gpu"} {
			p := newPod(name, "serve")
			p.Spec.NodeSelector = map[string]string{"has": name}
			require.NoError(t, api.Apply(p))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, runningContainers(machine))
		assert.Positive(t, view.refreshes)
		assert.Equal(t, v1.PodPending, statusOf(n, "disk").Phase)
		assert.Equal(t, "AdmissionDeferred", statusOf(n, "disk").Reason)

		view.setInfo(node.NodeInfo{ReadAt: time.Now(), Labels: map[string]string{"has": "disk"}})
		n.Scheduling().Recheck()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"disk/c"}, runningContainers(machine))
		assert.Equal(t, v1.PodFailed, statusOf(n, "gpu").Phase)
		assert.Equal(t, "NodeAffinity", statusOf(n, "gpu").Reason)

		view.setInfo(node.NodeInfo{ReadAt: time.Now(), Taints: []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}}})
		n.Scheduling().Recheck()
		n.RequestSync("disk")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"disk/c"}, runningContainers(machine), "what runs is the taint manager's")
		require.NoError(t, api.Apply(newPod("late", "serve")))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "AdmissionDeferred", statusOf(n, "late").Reason)
		view.setInfo(node.NodeInfo{ReadAt: time.Now(), Taints: []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}}})
		n.Scheduling().Recheck()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "TaintToleration", statusOf(n, "late").Reason)

		time.Sleep(time.Second)
		require.NoError(t, api.Apply(newPod("lucky", "serve")))
		time.Sleep(time.Second)
		view.setInfo(node.NodeInfo{ReadAt: time.Now()})
		n.Scheduling().Recheck()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, v1.PodRunning, statusOf(n, "lucky").Phase, "the taint was taken away before it was bound")
		require.NoError(t, n.stopNode())
	})
}

// TestNode_AddressesAreShown: other addresses of the node are in the statuses of its pods at
// once, though nothing else of these changes.
func TestNode_AddressesAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &seenNode{info: node.NodeInfo{HostIPs: []string{"192.0.2.1"}}}
		n, api := runJoinedNode(t, node.Config{Runtime: memory.New(memory.Config{}), Scheduling: node.SchedulingConfig{View: view}})
		require.NoError(t, api.Apply(newPod("web", "serve")))
		time.Sleep(time.Minute)
		assert.Equal(t, "192.0.2.1", statusOf(n, "web").HostIP)
		ips := []string{"192.0.2.2"}
		view.setInfo(node.NodeInfo{HostIPs: ips})
		n.Scheduling().Recheck()
		time.Sleep(time.Millisecond)
		assert.Equal(t, "192.0.2.2", statusOf(n, "web").HostIP)
		ips[0] = "192.0.2.3"
		n.Scheduling().Recheck()
		time.Sleep(time.Millisecond)
		assert.Equal(t, "192.0.2.3", statusOf(n, "web").HostIP, "what was shown is compared, and not what the view has made of it")
		view.panics = true
		assert.NotPanics(t, n.Scheduling().Recheck, "whoever calls it has not written the view")
		require.NoError(t, n.stopNode())
	})
}

// TestNode_UnsupportedFieldOfAnAPIPod: it stays Pending and says why; a failed pod would
// be made again for ever. Resources are as the node is seen to have them.
func TestNode_UnsupportedFieldOfAnAPIPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		recorder := &rejections{}
		view := &seenNode{info: node.NodeInfo{Allocatable: v1.ResourceList{"pods": resource.MustParse("1")}}}
		n, api := runJoinedNode(t, node.Config{Runtime: machine, Recorder: recorder, Scheduling: node.SchedulingConfig{View: view}})
		p := newPod("odd", "serve")
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "s", Path: "/"}}}}
		require.NoError(t, api.Apply(p))
		time.Sleep(time.Minute)
		synctest.Wait()
		n.Scheduling().Recheck()
		time.Sleep(time.Minute)
		synctest.Wait()
		odd := statusOf(n, "odd")
		assert.Equal(t, v1.PodPending, odd.Phase)
		assert.Equal(t, "UnsupportedField", odd.Reason, odd.Message)
		assert.Contains(t, odd.Message, "spec.volumes")
		assert.Equal(t, []string{"odd Warning UnsupportedField"}, recorder.said, "said once")

		require.NoError(t, api.Apply(newPod("more", "serve")))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "OutOfpods", statusOf(n, "more").Reason)
		api.Delete("odd")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "", statusOf(n, "odd").Reason, "it is gone")
		require.NoError(t, n.stopNode())
	})
}
