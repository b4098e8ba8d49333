package node_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
)

// A scheduler in a few lines: it places a pod on the node with the most free CPU of those on which the
// pod fits. The nodes need not run, because an applied pod counts at once.
func ExampleScheduling_Fits() {
	var nodes []*node.Node
	for i, cpu := range []string{"2", "3", "1"} {
		n, err := node.New(node.Config{Name: fmt.Sprint("n", i), Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}})
		if err != nil {
			panic(err)
		}
		nodes = append(nodes, n)
	}
	nodes[2].Scheduling().Cordon()
	free := func(n *node.Node) int64 {
		all, used := n.Scheduling().Allocatable(), n.Scheduling().Allocated()
		return all.Cpu().MilliValue() - used.Cpu().MilliValue()
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		pod := jobPod(name, "true")
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1500m")}
		var best *node.Node
		var last error
		for _, n := range nodes {
			if err := n.Scheduling().Fits(pod); err != nil {
				last = err
			} else if best == nil || free(n) > free(best) {
				best = n
			}
		}
		if best == nil {
			var fit *syncloop.FitError
			if errors.As(last, &fit) {
				fmt.Printf("%s: on no node; %s lacks:", name, fit.Node)
				for _, r := range fit.Reasons {
					fmt.Print(" ", r.Kind, " ", r.Resource)
				}
				fmt.Println()
			}
			continue
		}
		_ = best.Apply(pod)
		fmt.Printf("%s: placed, %d millicores are left there\n", name, free(best))
	}
	// Output:
	// a: placed, 1500 millicores are left there
	// b: placed, 500 millicores are left there
	// c: placed, 0 millicores are left there
	// d: on no node; n2 lacks: Cordoned  Resource cpu
}

// Preemption: the scheduler deletes as few pods of lower priority as necessary, those with the lowest
// priority first. It applies the new pod right after: the pod waits until the deleted ones have
// terminated, and their resources are reserved for it.
func ExampleScheduling_FitsWithout() {
	n, err := node.New(node.Config{Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}}})
	if err != nil {
		panic(err)
	}
	newPod := func(name string, priority int32, cpu string) *v1.Pod {
		pod := jobPod(name, "serve")
		pod.Spec.Priority = &priority
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		return pod
	}
	pods := []*v1.Pod{newPod("a", 5, "1"), newPod("b", 1, "1"), newPod("c", 3, "1")}
	for _, pod := range pods {
		_ = n.Apply(pod)
	}
	urgent := newPod("urgent", 10, "2")
	slices.SortFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(*a.Spec.Priority, *b.Spec.Priority) })
	var victims []types.UID
	for _, pod := range pods {
		if *pod.Spec.Priority >= *urgent.Spec.Priority || n.Scheduling().FitsWithout(urgent, victims...) == nil {
			break
		}
		victims = append(victims, pod.UID)
	}
	if err := n.Scheduling().FitsWithout(urgent, victims...); err != nil {
		panic(err) // No preemption helps it here.
	}
	for _, uid := range victims {
		n.Delete(uid)
	}
	_ = n.Apply(urgent)
	fmt.Println("preempted:", victims)
	// Output:
	// preempted: [b c]
}
