package podspec

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Requests is what a pod has to be given: by resource, for the pod as a whole,
// its overhead included. The list is the caller's.
func Requests(pod *v1.Pod) v1.ResourceList {
	total := whole(&pod.Spec, containerRequests)
	if r := pod.Spec.Resources; r != nil {
		for name, limit := range r.Limits {
			if _, requested := total[name]; !requested && IsPodLevelResource(name) {
				total[name] = limit.DeepCopy()
			}
		}
		replace(total, r.Requests)
	}
	add(total, pod.Spec.Overhead)
	return total
}

// Limits is the most that a pod may take of each resource, its overhead
// included. A resource that not every container limits, and spec.resources
// neither, has no limit and is not in the list, which is the caller's. A limit of
// zero is none, and overhead does not make it one.
func Limits(pod *v1.Pod) v1.ResourceList {
	total := whole(&pod.Spec, containerLimits)
	maps.DeleteFunc(total, func(name v1.ResourceName, _ resource.Quantity) bool { return !limited(&pod.Spec, name) })
	if r := pod.Spec.Resources; r != nil {
		replace(total, r.Limits)
	}
	for name, more := range pod.Spec.Overhead {
		if sum, ok := total[name]; ok && !sum.IsZero() {
			sum.Add(more)
			total[name] = sum
		}
	}
	return total
}

// ContainerRequests is what one container has to be given. A request that is
// left out is the limit. The list is the caller's.
func ContainerRequests(c *v1.Container) v1.ResourceList { return containerRequests(c).DeepCopy() }

// whole is the most that the containers of a pod need at one time. The init
// containers run one after the other, each beside the sidecars before it.
func whole(spec *v1.PodSpec, of func(*v1.Container) v1.ResourceList) v1.ResourceList {
	total := v1.ResourceList{}
	for i := range spec.Containers {
		add(total, of(&spec.Containers[i]))
	}
	sidecars, most := v1.ResourceList{}, v1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if IsSidecar(c) {
			add(sidecars, of(c))
			raise(most, sidecars)
			continue
		}
		step := sidecars.DeepCopy()
		add(step, of(c))
		raise(most, step)
	}
	add(total, sidecars)
	raise(total, most)
	return total
}

func containerLimits(c *v1.Container) v1.ResourceList { return c.Resources.Limits }

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

// limited reports whether every container that runs to the end limits a
// resource: otherwise one of them may take all there is.
func limited(spec *v1.PodSpec, name v1.ResourceName) bool {
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

// SumResources returns the sums of the requests and of the limits of a pod's containers, at the time when
// they are highest. The resources of the pod as a whole (spec.resources) do not count. The lists are
// the caller's.
func SumResources(spec *v1.PodSpec) (requests, limits v1.ResourceList) {
	return whole(spec, containerRequests), whole(spec, containerLimits)
}

// IsPodLevelResource reports whether a resource can be asked for by a pod as a whole.
func IsPodLevelResource(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// replace puts what a pod as a whole says in the place of the sums.
func replace(total, said v1.ResourceList) {
	for name, q := range said {
		if IsPodLevelResource(name) {
			total[name] = q.DeepCopy()
		}
	}
}

func add(total, list v1.ResourceList) {
	for name, q := range list {
		if sum, ok := total[name]; ok {
			sum.Add(q)
			q = sum
		} else {
			q = q.DeepCopy() // Addition works in place, and may be on a shared number.
		}
		total[name] = q
	}
}

// raise lifts each quantity to that of the list, if that is more.
func raise(total, list v1.ResourceList) {
	for name, q := range list {
		if have, ok := total[name]; !ok || have.Cmp(q) < 0 {
			total[name] = q.DeepCopy()
		}
	}
}

// ClaimAnnotation is the annotation of a sandbox that has the Text of its pod's
// Claim: what the pod takes is known by it to an agent that does not know the pod.
const ClaimAnnotation = "podkeel.dev/claim"

// Claim is what a pod takes of its node.
type Claim struct {
	// Requests are for the pod as a whole, its one place under "pods" included.
	Requests v1.ResourceList `json:"requests,omitempty"`
	// Ports are those of the host.
	Ports []HostPort `json:"hostPorts,omitempty"`
}

// onePlace are the requests of all pods that request nothing, which share it.
var onePlace = v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}

// ClaimForPod is what a pod takes by its spec. It is only read.
func ClaimForPod(pod *v1.Pod) Claim {
	c := Claim{Requests: Requests(pod), Ports: HostPorts(pod)}
	if len(c.Requests) == 0 {
		c.Requests = onePlace
		return c
	}
	c.place()
	return c
}

func (c *Claim) place() { c.Requests[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI) }

// AnnotationValue is the claim in a form that fits an annotation.
func (c Claim) AnnotationValue() string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // It is made of strings and numbers, and none fails.
	}
	return string(b)
}

// longQuantity finds a value in JSON that ParseQuantity would refuse unread.
var longQuantity = regexp.MustCompile(`:\s*"?(?:[^\s",}]{65}|[-+]?[0-9.]+[eE][-+]?0*[1-9][0-9]{2})`)

// ParseClaim reads what Text has written. Of what cannot be read nothing is known
// but that the pod takes one place.
func ParseClaim(text string) Claim {
	var c Claim
	if longQuantity.MatchString(text) || json.Unmarshal([]byte(text), &c) != nil {
		c = Claim{}
	}
	if c.Requests == nil {
		c.Requests = v1.ResourceList{}
	}
	c.place()
	return c
}
