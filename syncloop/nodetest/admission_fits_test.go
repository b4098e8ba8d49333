package nodetest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestFits_IsWhatAdmissionDecides: for random nodes and pods, Fits returns nil or reasons for schedulers only, if and
// only if Apply then admits the pod. Waits reports which of the other pods wait, and the first reason equals the reason
// of a rejection. This also holds for pods that are applied one right after the other.
func TestFits_IsWhatAdmissionDecides(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		config, wait := drawnNode(r)
		b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
		b.Run(5 * time.Second)
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 5).Draw(r, "action") {
			case 0:
				b.Node().Delete(types.UID(fmt.Sprint("uid-p", i-1))) // It may not have been applied.
				b.Run(0)
			case 1:
				b.Run(time.Duration(rapid.IntRange(1, 60).Draw(r, "seconds")) * time.Second)
			case 2:
				if rapid.IntRange(0, 9).Draw(r, "cordon") == 0 {
					b.Node().Scheduling().Cordon()
				}
			}
			predictions := map[types.UID]error{}
			burst := rapid.IntRange(1, 3).Draw(r, "burst")
			for j := range burst {
				name := fmt.Sprint("p", i)
				if j > 0 {
					name += fmt.Sprint("-", j)
				}
				pod := drawnPod(r, name, wait && burst == 1) // Of several that come at once the first is not the first.
				fits := b.Node().Scheduling().Fits(pod)
				if err := b.Node().Apply(pod); err != nil {
					requireInvalid(r, fits, err)
					continue
				}
				predictions[pod.UID] = fits
			}
			b.Run(0)
			for uid, fits := range predictions {
				if got, want := podOutcome(b, uid), fitsOutcome(fits); got != want {
					r.Fatalf("%s: Fits said %v\ngot  %s\nwant %s", uid, fits, got, want)
				}
			}
			checkAllocated(r, b)
		}
		b.Stop()
	})
}

// podOutcome returns the outcome of a pod: admitted, waiting, or rejected for a reason.
func podOutcome(b *nodetest.Simulation, uid types.UID) string {
	switch phase, reason, _ := strings.Cut(podState(b, uid), " "); {
	case reason == syncloop.ReasonAdmissionDeferred || reason == v1.PodReasonUnschedulable:
		return "waits"
	case phase == string(v1.PodFailed):
		return "rejected: " + reason
	case phase == string(v1.PodPending) || phase == string(v1.PodRunning):
		return "admitted"
	}
	return podState(b, uid)
}

// fitsOutcome returns the outcome that the error of Fits predicts.
func fitsOutcome(fits error) string {
	var fit *syncloop.FitError
	if !errors.As(fits, &fit) || fit.SchedulingOnly() {
		return "admitted"
	}
	first := fit.Reasons[0]
	for _, r := range fit.Reasons {
		if first = r; !r.SchedulingOnly() {
			break
		}
	}
	if !fit.Waits {
		return "rejected: " + first.Reason
	}
	return "waits"
}

func requireInvalid(r *rapid.T, fits, err error) {
	var reason allocation.Reason
	if !errors.As(fits, &reason) || reason.Kind != allocation.KindInvalid {
		r.Fatalf("Apply said %v, and Fits %v", err, fits)
	}
}

// checkAllocated fails if more of a resource is allocated than is allocatable.
func checkAllocated(r *rapid.T, b *nodetest.Simulation) {
	allocatable, allocated := b.Node().Scheduling().Allocatable(), b.Node().Scheduling().Allocated()
	for name, used := range allocated {
		if most, ok := allocatable[name]; ok && used.Cmp(most) > 0 {
			r.Fatalf("%s: %s of %s", name, used.String(), most.String())
		}
	}
}

// drawnNode is a small node of any kind.
func drawnNode(r *rapid.T) (config node.Config, wait bool) {
	config = node.Config{
		Scheduling: node.SchedulingConfig{MaxPods: rapid.IntRange(2, 5).Draw(r, "max pods"),
			Capacity: v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi")},
			Labels:   map[string]string{"disk": "ssd"}},
	}
	if rapid.Bool().Draw(r, "reserved") {
		config.Scheduling.Reserved = v1.ResourceList{"cpu": resource.MustParse("1")}
	}
	for _, effect := range []v1.TaintEffect{v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule} {
		if rapid.IntRange(0, 3).Draw(r, string(effect)) == 0 {
			config.Scheduling.Taints = append(config.Scheduling.Taints, v1.Taint{Key: "k", Value: "v", Effect: effect})
		}
	}
	if wait = rapid.Bool().Draw(r, "wait"); wait {
		config.Scheduling.WhenFull = syncloop.Wait
	}
	return config, wait
}

// drawnPod has some of everything that admission looks at.
func drawnPod(r *rapid.T, name string, priorities bool) *v1.Pod {
	p := newPod(name, []string{"serve"})
	p.Spec.TerminationGracePeriodSeconds = new(int64(rapid.IntRange(1, 40).Draw(r, "grace")))
	p.Annotations = map[string]string{"memory.podkeel.dev/c0": rapid.SampledFrom([]string{"run=forever ignore-term", "run=forever", "run=20s"}).Draw(r, "script")}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{
		"cpu":    resource.MustParse(rapid.SampledFrom([]string{"0", "100m", "1", "2", "3", "5"}).Draw(r, "cpu")),
		"memory": resource.MustParse(rapid.SampledFrom([]string{"0", "1Gi", "2Gi"}).Draw(r, "memory")),
	}
	one := func(in int, label string) bool { return rapid.IntRange(1, in).Draw(r, label) == 1 }
	if one(4, "init") {
		init := v1.Container{Name: "i", Image: "i", Command: []string{"serve"}, Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("2")}}}
		if one(2, "sidecar") {
			init.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, init)
	}
	if one(3, "port") {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: int32(rapid.IntRange(80, 82).Draw(r, "host port"))}}
	}
	if one(3, "tolerates") {
		p.Spec.Tolerations = []v1.Toleration{{Key: rapid.SampledFrom([]string{"k", v1.TaintNodeUnschedulable}).Draw(r, "key"), Operator: v1.TolerationOpExists}}
	}
	if priorities && one(2, "priority") {
		p.Spec.Priority = new(int32(rapid.IntRange(-1, 1).Draw(r, "value")))
	}
	makeUnfit(p, one)
	return p
}

// makeUnfit sometimes changes a pod so that it fits on no node of drawnNode.
func makeUnfit(p *v1.Pod, one func(int, string) bool) {
	if one(12, "selector") {
		p.Spec.NodeSelector = map[string]string{"disk": "hdd", "zone": "a"}
	}
	if one(12, "node name") {
		p.Spec.NodeName = "elsewhere"
	}
	if one(12, "os") {
		p.Spec.OS = &v1.PodOS{Name: v1.Windows}
	}
	if one(12, "class") {
		p.Spec.RuntimeClassName = new("unknown")
	}
	if one(12, "image") {
		p.Spec.Containers[0].Image = ""
	}
}
