package eviction

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Reason is the reason of the status and the event of an evicted pod, and of a pod that is rejected under pressure.
const Reason = "Evicted"

// Annotations of the event of an eviction.
const (
	// AnnotationStarvedResource has the name of the resource that was short.
	AnnotationStarvedResource = "starved_resource"
	// AnnotationOffendingContainers lists the containers above their request, separated by commas.
	AnnotationOffendingContainers = "offending_containers"
	// AnnotationOffendingContainersUsage lists the usage of these containers, separated by commas.
	AnnotationOffendingContainersUsage = "offending_containers_usage"
	// AnnotationOffendingPod has the name of a pod that requests memory in its spec.resources.
	AnnotationOffendingPod = "offending_pod"
	// AnnotationOffendingPodUsage has the usage of that pod.
	AnnotationOffendingPodUsage = "offending_pod_usage"
)

// pressureMessage returns the message and the annotations of an eviction. The message has the threshold, the
// measured value, and the containers of the pod above their requests. If the pod itself requests memory in
// spec.resources, it also has the usage of the pod. (EV-24, EV-25)
func pressureMessage(t Threshold, o Observation, p *Pod) (string, map[string]string) {
	name := t.Signal.Resource()
	var b strings.Builder
	fmt.Fprintf(&b, "The node was low on resource: %s. Threshold quantity: %s, available: %s. ",
		name, t.Value.formatFor(t.Signal, o.Capacity), quantityText(name, o.Available))
	annotations := map[string]string{AnnotationStarvedResource: string(name)}
	if request, ok := p.podLevelRequest(name); ok {
		if used := p.messageUsage(name); used != nil {
			fmt.Fprintf(&b, "Pod %s was using %s, request is %s, has larger consumption of %s. ", p.pod.Name, used, &request, name)
			annotations[AnnotationOffendingPod], annotations[AnnotationOffendingPodUsage] = p.pod.Name, used.String()
		}
	}
	var names, usages []string
	for _, c := range p.containers {
		used := containerMessageUsage(name, p.containerUsage(c.Name))
		request := c.Resources.Requests[name]
		if used != nil && used.Cmp(request) > 0 {
			fmt.Fprintf(&b, "Container %s was using %s, request is %s, has larger consumption of %s. ", c.Name, used, &request, name)
			names, usages = append(names, c.Name), append(usages, used.String())
		}
	}
	annotations[AnnotationOffendingContainers] = strings.Join(names, ",")
	annotations[AnnotationOffendingContainersUsage] = strings.Join(usages, ",")
	return b.String(), annotations
}

// podLevelRequest returns the request of a resource in spec.resources of the pod. It returns false if that has
// none.
func (p *Pod) podLevelRequest(name v1.ResourceName) (resource.Quantity, bool) {
	if p.pod.Spec.Resources == nil {
		return resource.Quantity{}, false
	}
	request, ok := p.pod.Spec.Resources.Requests[name]
	return request, ok
}

// messageUsage returns the usage of the pod that a message names, or nil if messages do not name that resource.
func (p *Pod) messageUsage(name v1.ResourceName) *resource.Quantity {
	if name != v1.ResourceMemory || p.Usage.MemoryBytes == nil {
		return nil
	}
	return resource.NewQuantity(sumFigures(p.Usage.MemoryBytes), resource.BinarySI)
}

// containerMessageUsage returns the usage of a container that a message names: memory, or the bytes of logs and
// writable layer. It returns nil if that is not known, and for other resources.
func containerMessageUsage(name v1.ResourceName, c *ContainerUsage) *resource.Quantity {
	switch {
	case c == nil:
		return nil
	case name == v1.ResourceMemory && c.MemoryBytes != nil:
		return resource.NewQuantity(sumFigures(c.MemoryBytes), resource.BinarySI)
	case name == v1.ResourceEphemeralStorage && c.Layer.Bytes != nil && c.Logs.Bytes != nil:
		return resource.NewQuantity(sumFigures(c.Layer.Bytes, c.Logs.Bytes), resource.BinarySI)
	}
	return nil
}
