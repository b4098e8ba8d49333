package node_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

func TestNode_ConfigOfResources(t *testing.T) {
	_, err := node.New(node.Config{
		Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{"cpu": resource.MustParse("-1"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("2")},
			Reserved: v1.ResourceList{"memory": resource.MustParse("2Gi"), "pods": resource.MustParse("-1"), "example.com/gpu": resource.MustParse("1")}},
	})
	require.EqualError(t, err, strings.Join([]string{
		"node: Config.Scheduling.Capacity: cpu is negative",
		"node: Config.Scheduling.Reserved: example.com/gpu is not a part of the capacity",
		"node: Config.Scheduling.Reserved: memory is not a part of the capacity",
		"node: Config.Scheduling.Reserved: pods is not a part of the capacity",
	}, "\n"), "always in this order")
}

// admissionNode is a node that has something to say to every handler.
func admissionNode(machine *memory.Runtime) node.Config {
	return node.Config{
		Runtime: machine,
		Name:    "n1",
		Scheduling: node.SchedulingConfig{Labels: map[string]string{"disk": "ssd", v1.LabelOSStable: "linux"},
			Taints:   []v1.Taint{{Key: "night", Effect: v1.TaintEffectNoExecute}, {Key: "any", Effect: v1.TaintEffectNoSchedule}},
			Capacity: v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi")},
			Reserved: v1.ResourceList{"cpu": resource.MustParse("1")}},
	}
}

// refusedPods returns changes that make a pod refused, by the reason of the refusal.
func refusedPods() map[string]func(*v1.Pod) {
	return map[string]func(*v1.Pod){
		"SchedulingGated":                    func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "quota"}} },
		"PodOSSelectorNodeLabelDoesNotMatch": func(p *v1.Pod) { p.Labels = map[string]string{v1.LabelOSStable: "windows"} },
		"PodOSNotSupported":                  func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} },
		"OutOfcpu": func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("3001m")}
		},
		"OutOfmemory": func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"memory": resource.MustParse("5Gi")}
		},
		"NodeName":        func(p *v1.Pod) { p.Spec.NodeName = "n2" },
		"NodeAffinity":    func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} },
		"TaintToleration": func(p *v1.Pod) { p.Spec.Tolerations = nil },
	}
}

func tolerantPod(name string) *v1.Pod {
	p := newPod(name, "serve")
	p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	return p
}

// TestNode_AD5_SL19_SL20_HC8_RefusedForEachReason: a pod that is refused, for
// whatever reason, has no worker and no container, and can be deleted.
func TestNode_AD5_SL19_SL20_HC8_RefusedForEachReason(t *testing.T) {
	for reason, spoil := range refusedPods() {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine := memory.New(memory.Config{})
				n := runConfig(t, admissionNode(machine))
				p := tolerantPod("web")
				spoil(p)
				require.NoError(t, n.Apply(p))
				time.Sleep(10 * time.Second)
				require.Len(t, n.Pods(), 1)
				assert.Equal(t, v1.PodFailed, n.Pods()[0].Status.Phase)
				assert.Equal(t, reason, n.Pods()[0].Status.Reason)
				assert.True(t, strings.HasPrefix(n.Pods()[0].Status.Message, "Pod was rejected: "))
				n.RequestSync(p.UID)
				time.Sleep(10 * time.Second)
				assert.Empty(t, machine.Snapshot())
				n.Delete(p.UID)
				time.Sleep(10 * time.Second)
				assert.Empty(t, n.Pods())
				require.NoError(t, n.Apply(tolerantPod("web")))
				time.Sleep(10 * time.Second)
				assert.Equal(t, []string{"web/c"}, runningContainers(machine), "another pod of its name is another question")
				require.NoError(t, n.stopNode())
			})
		})
	}
}

// TestNode_AD12_SupplementalGroupsPolicy: a pod that restricts the groups of its processes is rejected for one reason if
// the runtime cannot do that, also if it comes from an API server. It runs if the runtime can.
func TestNode_AD12_SupplementalGroupsPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		without := struct{ runtime.Runtime }{machine} // It is no FeatureReporter.
		n, api := runJoinedNode(t, node.Config{Runtime: without, Name: "n1"})
		p := newPod("web", "serve")
		p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}
		assert.Equal(t, []string{"UnsupportedField SupplementalGroupsPolicyNotSupported spec.securityContext.supplementalGroupsPolicy"}, reasonLines(n.Scheduling().Fits(p)))
		require.NoError(t, api.Apply(p))
		time.Sleep(10 * time.Second)
		got := statusOf(n, "web")
		assert.Equal(t, v1.PodFailed, got.Phase)
		assert.Equal(t, "SupplementalGroupsPolicyNotSupported", got.Reason)
		assert.Equal(t, "Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node", got.Message)
		assert.Empty(t, machine.Snapshot())
		require.NoError(t, n.stopNode())

		able, api := runJoinedNode(t, node.Config{Runtime: machine, Name: "n1"})
		require.NoError(t, api.Apply(p))
		time.Sleep(10 * time.Second)
		assert.Equal(t, v1.PodRunning, statusOf(able, "web").Phase)
		require.NoError(t, able.stopNode())
	})
}

// TestNode_AD8_I42_NotRefusedAfterARestart: what ran under a former agent runs
// on, though this node would not take it now.
func TestNode_AD8_I42_NotRefusedAfterARestart(t *testing.T) {
	for reason, spoil := range refusedPods() {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine := memory.New(memory.Config{})
				p := tolerantPod("web")
				first := runConfig(t, node.Config{Runtime: machine})
				require.NoError(t, first.Apply(p))
				time.Sleep(time.Second)
				require.NoError(t, first.stopNode())
				before := machine.Snapshot()
				require.Len(t, before, 1)
				spoil(p)
				n, err := node.New(admissionNode(machine))
				require.NoError(t, err)
				require.NoError(t, n.Apply(p))
				r := runNode(t, n)
				time.Sleep(10 * time.Second)
				assert.NotEqual(t, v1.PodFailed, n.Pods()[0].Status.Phase)
				assert.Equal(t, []string{"web/c"}, runningContainers(machine))
				require.NoError(t, r.stopNode())
			})
		})
	}
}

// TestNode_AD8_I42_FinishedIsNotRefused: a job that completed before a restart of the agent is
// Succeeded after it, although the node has no room for it, and it takes no room from a new pod.
func TestNode_AD8_I42_FinishedIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		job := newPod("job", "sleep", "3")
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		first := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, first.Apply(job))
		require.NoError(t, first.Apply(newPod("web", "serve")))
		time.Sleep(10 * time.Second)
		require.NoError(t, first.stopNode())

		n, err := node.New(node.Config{Runtime: machine, Scheduling: node.SchedulingConfig{MaxPods: 2}})
		require.NoError(t, err)
		for _, p := range []*v1.Pod{job, newPod("web", "serve"), newPod("new", "serve")} {
			require.NoError(t, n.Apply(p))
		}
		r := runNode(t, n)
		time.Sleep(10 * time.Second)
		var phases []string
		for _, p := range r.Pods() {
			phases = append(phases, p.Name+" "+string(p.Status.Phase))
		}
		assert.ElementsMatch(t, []string{"job Succeeded", "web Running", "new Running"}, phases)
		assert.ElementsMatch(t, []string{"web/c", "new/c"}, runningContainers(machine))
		require.NoError(t, r.stopNode())
	})
}
