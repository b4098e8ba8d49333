package podspec

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Requests returns the requests of a pod as a whole by resource, overhead included. The caller owns the list.
func Requests(pod *v1.Pod) v1.ResourceList {
	total := peakUsage(&pod.Spec, containerRequests)
	if r := pod.Spec.Resources; r != nil {
		for name, limit := range r.Limits {
			if _, requested := total[name]; !requested && IsPodLevelResource(name) {
				total[name] = limit.DeepCopy()
			}
		}
		replaceWithPodLevel(total, r.Requests)
	}
	addResources(total, pod.Spec.Overhead)
	return total
}

// Limits returns the limits of a pod as a whole by resource, overhead included. A resource has a limit only if every
// container or spec.resources limits it. A limit of zero means unlimited, and overhead does not change that. The caller
// owns the list.
func Limits(pod *v1.Pod) v1.ResourceList {
	total := peakUsage(&pod.Spec, containerLimits)
	maps.DeleteFunc(total, func(name v1.ResourceName, _ resource.Quantity) bool { return !allContainersLimit(&pod.Spec, name) })
	if r := pod.Spec.Resources; r != nil {
		replaceWithPodLevel(total, r.Limits)
	}
	for name, more := range pod.Spec.Overhead {
		if sum, ok := total[name]; ok && !sum.IsZero() {
			sum.Add(more)
			total[name] = sum
		}
	}
	return total
}

// ContainerRequests returns the requests of one container. A missing request is the limit. The caller owns the list.
func ContainerRequests(c *v1.Container) v1.ResourceList { return containerRequests(c).DeepCopy() }

// peakUsage returns the most that the containers of a pod need at one time. resourcesOf returns the needs of
// one container. The result is, for each resource, the sum of the regular containers and sidecars, or the need
// of one init container with the sidecars before it, whichever is larger.
func peakUsage(spec *v1.PodSpec, resourcesOf func(*v1.Container) v1.ResourceList) v1.ResourceList {
	total := v1.ResourceList{}
	for i := range spec.Containers {
		addResources(total, resourcesOf(&spec.Containers[i]))
	}
	sidecars, peak := v1.ResourceList{}, v1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if IsSidecar(c) {
			addResources(sidecars, resourcesOf(c))
			raiseToLarger(peak, sidecars)
			continue
		}
		step := sidecars.DeepCopy()
		addResources(step, resourcesOf(c))
		raiseToLarger(peak, step)
	}
	addResources(total, sidecars)
	raiseToLarger(total, peak)
	return total
}

// containerLimits returns the limits of a container. The caller must not change the list.
func containerLimits(c *v1.Container) v1.ResourceList { return c.Resources.Limits }

// containerRequests returns the requests of a container. A missing request is the limit. The caller must not
// change the list.
func containerRequests(c *v1.Container) v1.ResourceList {
	if len(c.Resources.Limits) == 0 {
		return c.Resources.Requests
	}
	list := c.Resources.Limits.DeepCopy()
	for name, request := range c.Resources.Requests {
		list[name] = request
	}
	return list
}

// allContainersLimit reports whether every init container and regular container has a limit for the resource
// that is not zero. A container without a limit may use everything on the node.
func allContainersLimit(spec *v1.PodSpec, name v1.ResourceName) bool {
	for i := range spec.Containers {
		if q, ok := spec.Containers[i].Resources.Limits[name]; !ok || q.IsZero() {
			return false
		}
	}
	for i := range spec.InitContainers {
		if q, ok := spec.InitContainers[i].Resources.Limits[name]; !ok || q.IsZero() {
			return false
		}
	}
	return true
}

// SumResources returns the sums of the requests and of the limits of a pod's containers, at the time when they are
// highest. The resources of the pod as a whole (spec.resources) do not count. The caller owns the lists.
func SumResources(spec *v1.PodSpec) (requests, limits v1.ResourceList) {
	return peakUsage(spec, containerRequests), peakUsage(spec, containerLimits)
}

// IsPodLevelResource reports whether spec.resources of a pod may contain the resource.
func IsPodLevelResource(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// replaceWithPodLevel sets the quantities in total to the quantities in podLevel, for the resources that
// spec.resources may contain. It changes total.
func replaceWithPodLevel(total, podLevel v1.ResourceList) {
	for name, q := range podLevel {
		if IsPodLevelResource(name) {
			total[name] = q.DeepCopy()
		}
	}
}

// addResources adds the quantities of more to total. It changes total in place and does not change more.
func addResources(total, more v1.ResourceList) {
	for name, q := range more {
		if sum, ok := total[name]; ok {
			sum.Add(q)
			q = sum
		} else {
			q = q.DeepCopy() // sum.Add works in place and could change a quantity of the pod.
		}
		total[name] = q
	}
}

// raiseToLarger sets each quantity in total to the larger one of total and other. It adds quantities that total
// lacks. It changes total.
func raiseToLarger(total, other v1.ResourceList) {
	for name, q := range other {
		if have, ok := total[name]; !ok || have.Cmp(q) < 0 {
			total[name] = q.DeepCopy()
		}
	}
}

// ClaimAnnotation is the annotation of a sandbox that holds the AnnotationValue of its pod's Claim. An agent that does
// not know the pod reads there which resources the pod uses.
const ClaimAnnotation = "podkeel.dev/claim"

// Claim is what a pod uses of its node.
type Claim struct {
	// Requests are the requests of the pod as a whole, including 1 of the resource "pods".
	Requests v1.ResourceList `json:"requests,omitempty"`
	// Ports are the host ports.
	Ports []HostPort `json:"hostPorts,omitempty"`
}

// onePodSlot is shared by the claims of all pods without requests.
var onePodSlot = v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}

// ClaimForPod returns the resource requests and host ports of a pod. The caller must not change them.
func ClaimForPod(pod *v1.Pod) Claim {
	c := Claim{Requests: Requests(pod), Ports: HostPorts(pod)}
	if len(c.Requests) == 0 {
		c.Requests = onePodSlot
		return c
	}
	c.setPodsRequestToOne()
	return c
}

// setPodsRequestToOne sets the request for the resource "pods" to 1, because every pod takes one place on the
// node.
func (c *Claim) setPodsRequestToOne() {
	c.Requests[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
}

// AnnotationValue returns the claim as JSON.
func (c Claim) AnnotationValue() string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // Strings and numbers can always be marshaled.
	}
	return string(b)
}

// unsafeQuantityText matches a JSON value that is longer than ParseQuantity allows or has too large an exponent.
var unsafeQuantityText = regexp.MustCompile(`:\s*"?(?:[^\s",}]{65}|[-+]?[0-9.]+[eE][-+]?0*[1-9][0-9]{2})`)

// ParseClaim parses the result of AnnotationValue. If the text is invalid, the claim contains only 1 of the resource
// "pods".
func ParseClaim(text string) Claim {
	var c Claim
	if unsafeQuantityText.MatchString(text) || json.Unmarshal([]byte(text), &c) != nil {
		c = Claim{}
	}
	if c.Requests == nil {
		c.Requests = v1.ResourceList{}
	}
	c.setPodsRequestToOne()
	return c
}
