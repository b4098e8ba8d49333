package node_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
	"github.com/podkeel/podkeel/syncloop/node"
)

// reasonLines returns the reasons of an error of Fits, one line each.
func reasonLines(err error) (list []string) {
	var fit *syncloop.FitError
	if !errors.As(err, &fit) {
		return nil
	}
	for _, r := range fit.Reasons {
		text := fmt.Sprintf("%s %s", r.Kind, r.Reason)
		for _, more := range []string{string(r.Resource), r.Field, r.Label, r.Taint.Key} {
			if more != "" {
				text += " " + more
			}
		}
		if r.Resource != "" {
			text += fmt.Sprintf(" %s+%s>%s", r.Used.String(), r.Requested.String(), r.Capacity.String())
		}
		if r.Holder.Name != "" {
			text += fmt.Sprintf(" %s", r.Holder)
		}
		if r.Port.HostPort != 0 {
			text += fmt.Sprintf(" %s:%d/%s", r.Port.HostIP, r.Port.HostPort, r.Port.Protocol)
		}
		list = append(list, text)
	}
	return list
}

// unfitPod returns a pod with a reason of each kind that a valid pod can have.
func unfitPod() *v1.Pod {
	p := newPod("new", "serve")
	p.Labels = map[string]string{v1.LabelOSStable: "windows"}
	p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "quota"}}
	p.Spec.NodeSelector = map[string]string{"disk": "hdd", "zone": "a"}
	p.Spec.NodeName = "n2"
	p.Spec.RuntimeClassName = new("unknown")
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}, {ContainerPort: 81, HostPort: 81}, {ContainerPort: 82, HostPort: 82}}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("5Gi")}
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpExists}}}},
	}}}
	return p
}

// TestNode_FitsTellsEveryReason: not only the first, each with what belongs to it.
func TestNode_FitsTellsEveryReason(t *testing.T) {
	config := admissionNode(memory.New(memory.Config{}))
	config.Scheduling.MaxPods = 1
	config.Scheduling.Admit = []syncloop.PodAdmitHandler{syncloop.PodAdmitFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		return syncloop.PodAdmitResult{Reason: "Mine", Message: fmt.Sprintf("%d others, trial %t", len(attrs.OtherPods), attrs.Trial)}
	}), syncloop.PodAdmitAloneFunc(func(syncloop.PodAdmitAttributes) syncloop.PodAdmitResult { panic("boom") })}
	held := tolerantPod("held")
	held.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}, {ContainerPort: 82, HostPort: 82}}
	held.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("1")}
	first := config
	first.Scheduling.Admit = nil
	n, err := node.New(first)
	require.NoError(t, err)
	require.NoError(t, n.Scheduling().Fits(held))
	require.NoError(t, n.Apply(held))
	n.Scheduling().Cordon()
	p := unfitPod()
	got := n.Scheduling().Fits(p)
	assert.Equal(t, []string{
		"Taint TaintToleration any",
		"Cordoned NodeUnschedulable node.kubernetes.io/unschedulable",
		"SchedulingGate SchedulingGated spec.schedulingGates",
		"OS PodOSSelectorNodeLabelDoesNotMatch metadata.labels[kubernetes.io/os]",
		"PodCount OutOfpods pods 1+1>1",
		"Resource OutOfcpu cpu 1+3>3",
		"Resource OutOfmemory memory 0+5Gi>4Gi",
		"NodeAffinity NodeAffinity spec.nodeSelector disk",
		"NodeAffinity NodeAffinity spec.nodeSelector zone",
		"NodeAffinity NodeAffinity spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
		"NodeName NodeName spec.nodeName",
		"HostPort NodePorts default/held 0.0.0.0:80/TCP",
		"HostPort NodePorts default/held 0.0.0.0:82/TCP",
		"Taint TaintToleration night",
		"UnsupportedField UnsupportedField spec.runtimeClassName",
	}, reasonLines(got))
	assert.Equal(t, unfitPod(), p, "it is only read")
	var reason allocation.Reason
	require.ErrorAs(t, got, &reason)
	assert.Equal(t, v1.TaintEffectNoSchedule, reason.Taint.Effect)
	assert.True(t, reason.SchedulingOnly())

	n, err = node.New(config)
	require.NoError(t, err)
	got = n.Scheduling().Fits(tolerantPod("web"))
	assert.EqualError(t, got, "pod default/web does not fit on node n1: Mine: 0 others, trial true; "+
		"UnexpectedAdmissionError: an admission handler failed; the node's log has the details")
	assert.Equal(t, []string{"Handler Mine", "Handler UnexpectedAdmissionError"}, reasonLines(got))
	assert.ErrorContains(t, n.Health().Err, "PodAdmitHandler.Admit panicked: boom")
}

// TestNode_FitsOfAnInvalidPod: each fault has its path, and Apply says the same.
func TestNode_FitsOfAnInvalidPod(t *testing.T) {
	n := newNode(t)
	p := newPod("web", "serve")
	p.Spec.Containers[0].Image = ""
	p.Spec.TerminationGracePeriodSeconds = new(int64(-1))
	assert.Equal(t, []string{
		"Invalid FailedValidation spec.terminationGracePeriodSeconds", "Invalid FailedValidation spec.containers[0].image",
	}, reasonLines(n.Scheduling().Fits(p)))
	assert.Equal(t, []string{"Invalid FailedValidation pod"}, reasonLines(n.Scheduling().Fits(nil)))
	assert.Error(t, n.Apply(p))
	assert.Error(t, n.Apply(nil))

	require.NoError(t, n.Apply(newPod("a", "serve")))
	assert.NoError(t, n.Scheduling().Fits(newPod("a", "serve")), "it does not count beside itself")
}

// TestNode_FitsAfterApply: what Apply has taken counts before the loop has seen it, until
// Delete, or Replace, takes it back, and then as what became of it.
func TestNode_FitsAfterApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{Scheduling: node.SchedulingConfig{MaxPods: 2}})
		time.Sleep(time.Second)
		counted := func() string { q := n.Scheduling().Allocated()[v1.ResourcePods]; return q.String() }
		for _, name := range []string{"a", "b"} {
			require.NoError(t, n.Scheduling().Fits(newPod(name, "serve")))
			require.NoError(t, n.Apply(newPod(name, "serve")))
		}
		assert.Equal(t, []string{"PodCount OutOfpods pods 2+1>2"}, reasonLines(n.Scheduling().Fits(newPod("c", "serve"))))
		assert.Equal(t, "2", counted())
		require.NoError(t, n.Apply(newPod("c", "serve")))
		assert.Equal(t, "2", counted(), "it will be rejected")
		n.Delete("b")
		n.Delete("c")
		time.Sleep(time.Minute)
		assert.Equal(t, "1", counted())
		require.NoError(t, n.Replace([]*v1.Pod{newPod("d", "serve")}))
		require.NoError(t, n.Replace([]*v1.Pod{newPod("e", "serve")}))
		other := newPod("e", "serve")
		other.UID = "other"
		require.Error(t, n.Apply(other), "the name is taken")
		time.Sleep(time.Minute)
		assert.Equal(t, "1", counted())
		assert.Equal(t, []string{"PodName NameConflict default/e"}, reasonLines(n.Scheduling().Fits(other)))
		require.NoError(t, n.stopNode())
		assert.ErrorIs(t, n.Scheduling().Fits(other), node.ErrStopped)
	})
}

func TestNode_Allocatable(t *testing.T) {
	quantities := func(list v1.ResourceList) string {
		cpu, pods := list[v1.ResourceCPU], list[v1.ResourcePods]
		return cpu.String() + " " + pods.String()
	}
	assert.Equal(t, "0 110", quantities(newNode(t).Scheduling().Allocatable()))
	config := admissionNode(nil)
	config.Runtime, config.Scheduling.MaxPods = nil, 5
	config.Scheduling.Capacity[v1.ResourcePods] = resource.MustParse("7")
	n, err := node.New(config)
	require.NoError(t, err)
	list := n.Scheduling().Allocatable()
	assert.Equal(t, "3 5", quantities(list))
	list[v1.ResourceCPU] = resource.MustParse("9")
	assert.Equal(t, "3 5", quantities(n.Scheduling().Allocatable()), "the list is the caller's")

	view := &seenNode{}
	view.setInfo(node.NodeInfo{Allocatable: v1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("3")}, Unschedulable: true})
	config.Scheduling.View = view
	n, err = node.New(config)
	require.NoError(t, err)
	assert.Equal(t, "8 3", quantities(n.Scheduling().Allocatable()))
	assert.Equal(t, []string{"Cordoned NodeUnschedulable node.kubernetes.io/unschedulable"}, reasonLines(n.Scheduling().Fits(newPod("web", "serve"))))
}

// TestNode_Cordon: Fits returns a reason on a cordoned node, and the node still runs applied pods, as a
// kubelet does.
func TestNode_Cordon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine, Scheduling: node.SchedulingConfig{Taints: []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}}}})
		cordoned := []string{"Cordoned NodeUnschedulable node.kubernetes.io/unschedulable"}
		assert.Equal(t, cordoned, reasonLines(n.Scheduling().Fits(newPod("web", "serve"))), "by the taint")
		assert.False(t, n.Scheduling().Cordoned())
		n.Scheduling().Cordon()
		assert.True(t, n.Scheduling().Cordoned())
		assert.Equal(t, cordoned, reasonLines(n.Scheduling().Fits(newPod("web", "serve"))), "once")
		assert.NoError(t, n.Scheduling().Fits(tolerantPod("daemon")))
		var fit *syncloop.FitError
		require.ErrorAs(t, n.Scheduling().Fits(newPod("web", "serve")), &fit)
		assert.True(t, fit.SchedulingOnly())
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		n.Scheduling().Uncordon()
		assert.False(t, n.Scheduling().Cordoned())
		require.NoError(t, n.stopNode())
	})
}

// TestNode_Undrain: new pods are admitted again, what the drain has ended stays ended, and
// is not kept for the next agent.
func TestNode_Undrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, kept := memory.New(memory.Config{}), &kept{}
		n := runConfig(t, node.Config{Runtime: machine, Pods: node.PodsConfig{TerminalStatuses: kept}})
		slow := newPod("slow", "serve")
		slow.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
		require.NoError(t, n.Apply(slow))
		time.Sleep(time.Second)
		drained := make(chan error, 1)
		go func() { drained <- n.Drain(t.Context(), node.DrainOptions{}) }()
		time.Sleep(time.Second)
		assert.Equal(t, []string{"Draining NodeShutdown"}, reasonLines(n.Scheduling().Fits(newPod("web", "serve"))))
		require.NoError(t, n.Apply(newPod("refused", "serve")))
		time.Sleep(time.Second)

		n.Undrain()
		require.NoError(t, n.Scheduling().Fits(newPod("web", "serve")))
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Minute)
		require.NoError(t, <-drained, "it goes on waiting for what it has found")
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		assert.Equal(t, "Terminated", statusOf(n, "slow").Reason)
		assert.Equal(t, "NodeShutdown", statusOf(n, "refused").Reason)
		assert.Empty(t, kept.savedNames())
		require.NoError(t, n.stopNode())
	})
}

// TestNode_FitsFromAnywhere: Fits and Allocated run concurrently with Apply, Delete and the loop. At
// the end no assumed pod is left.
func TestNode_FitsFromAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{Scheduling: node.SchedulingConfig{MaxPods: 20}})
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for j := range 50 {
					p := newPod(fmt.Sprintf("p%d-%d", i, j), "serve")
					if n.Scheduling().Fits(p) == nil {
						assert.NoError(t, n.Apply(p))
					}
					_ = n.Scheduling().Allocated()
					n.Delete(types.UID(fmt.Sprintf("p%d-%d", (i+1)%4, j-1)))
				}
			})
		}
		all.Wait()
		require.NoError(t, n.Replace(nil))
		time.Sleep(10 * time.Minute)
		assert.Equal(t, v1.ResourceList{}, n.Scheduling().Allocated())
		require.NoError(t, n.stopNode())
	})
}

// TestRequests: Requests counts as Allocated does, with the defaults of the pod.
func TestRequests(t *testing.T) {
	p := newPod("web", "serve")
	p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"cpu": resource.MustParse("2")}
	p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("3")}}}}
	n := newNode(t)
	require.NoError(t, n.Apply(p))
	got := node.Requests(p)
	assert.True(t, equality.Semantic.DeepEqual(n.Scheduling().Allocated(), got), got)
	assert.Equal(t, "3", got.Cpu().String())
	assert.Equal(t, "1", got.Pods().String())
	assert.Empty(t, p.Spec.Containers[0].Resources.Requests, "it is only read")
}
