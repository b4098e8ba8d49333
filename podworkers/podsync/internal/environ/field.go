package environ

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
)

// envFieldValue returns the value of a fieldRef for an environment variable. All labels or all annotations are
// an error, because only a volume file can have them.
func (r *resolution) envFieldValue(path string) (string, error) {
	switch path {
	case "spec.nodeName", "spec.host":
		return r.Pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return r.Pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return firstIP(r.HostIPs), nil
	case "status.hostIPs":
		return strings.Join(r.HostIPs, ","), nil
	case "status.podIP":
		return firstIP(r.PodIPs), nil
	case "status.podIPs":
		return strings.Join(r.PodIPs, ","), nil
	case "metadata.labels", "metadata.annotations":
		return "", fmt.Errorf("%w: a variable cannot be all of %s", ErrInvalid, path)
	}
	return PodField(r.Pod, path)
}

// firstIP returns the first address, or "" if there is none.
func firstIP(ips []string) string {
	if len(ips) == 0 {
		return ""
	}
	return ips[0]
}

// PodField returns the value of a fieldRef in a downward API file: the name, namespace, UID, labels or
// annotations of the pod, or one label or annotation. A missing label is empty.
func PodField(pod *v1.Pod, path string) (string, error) {
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return sortedKeyValueLines(pod.Labels), nil
	case "metadata.annotations":
		return sortedKeyValueLines(pod.Annotations), nil
	}
	name, rest, keyed := strings.Cut(path, "['")
	key, ends := strings.CutSuffix(rest, "']")
	if keyed && ends {
		switch name {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	return "", fmt.Errorf("%w: there is no field %s", ErrInvalid, printableName(path))
}

// sortedKeyValueLines returns one line key="value" for each entry of the map, with a quoted value. The lines
// are sorted and joined with line breaks.
func sortedKeyValueLines(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for key, value := range m {
		lines = append(lines, key+"="+strconv.Quote(value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// ResourceField returns a request or limit of a container of the pod, divided by the divisor and
// rounded up. If the reference names no container it means the container own. If the limit is not set,
// it is the limit of the pod, or else the allocatable amount of the node.
func ResourceField(pod *v1.Pod, own string, ref *v1.ResourceFieldSelector, allocatable v1.ResourceList) (string, error) {
	name := ref.ContainerName
	name = cmp.Or(name, own)
	c := podspec.FindContainer(podspec.AllContainers(pod), name)
	if c == nil {
		return "", fmt.Errorf("%w: the pod has no container %s", ErrInvalid, printableName(name))
	}
	kind, of, _ := strings.Cut(ref.Resource, ".")
	if !isReadableResource(kind, of) {
		return "", fmt.Errorf("%w: there is no resource %s", ErrInvalid, printableName(ref.Resource))
	}
	amount := resourceAmount(pod, c, kind, v1.ResourceName(of), allocatable)
	return divideRoundedUp(amount, ref.Divisor, of == string(v1.ResourceCPU))
}

// isReadableResource reports whether a resourceFieldRef may refer to kind.name, such as limits.cpu. Allowed are
// limits and requests of CPU, memory, ephemeral storage and huge pages.
func isReadableResource(kind, name string) bool {
	if kind != "limits" && kind != "requests" {
		return false
	}
	switch v1.ResourceName(name) {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(name, v1.ResourceHugePagesPrefix) && len(name) > len(v1.ResourceHugePagesPrefix)
}

// resourceAmount returns the request or limit of a container; kind is "requests" or "limits". A missing limit
// is replaced by the limit of the pod or, except for huge pages, by the allocatable amount of the node. A
// missing request is zero.
func resourceAmount(pod *v1.Pod, c *v1.Container, kind string, name v1.ResourceName, allocatable v1.ResourceList) resource.Quantity {
	if kind == "requests" {
		return c.Resources.Requests[name]
	}
	limit := c.Resources.Limits[name]
	if limit.IsZero() && pod.Spec.Resources != nil {
		limit = pod.Spec.Resources.Limits[name]
	}
	if limit.IsZero() && !strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
		limit = allocatable[name]
	}
	return limit
}

// divideRoundedUp returns amount divided by divisor, rounded up to an integer, as text. A zero divisor means 1,
// and a negative one is an error. If milli is true, it divides in thousandths, as CPU needs.
func divideRoundedUp(amount, divisor resource.Quantity, milli bool) (string, error) {
	if divisor.IsZero() {
		divisor = *resource.NewQuantity(1, resource.DecimalSI)
	}
	if divisor.Sign() < 0 {
		return "", fmt.Errorf("%w divisor %s", ErrInvalid, divisor.String())
	}
	a, d := amount.Value(), divisor.Value()
	if milli && a < math.MaxInt64/1000 && d < math.MaxInt64/1000 {
		a, d = amount.MilliValue(), divisor.MilliValue()
	}
	a, d = max(a, 0), max(d, 1)
	n := a / d
	if a%d != 0 {
		n++
	}
	return strconv.FormatInt(n, 10), nil
}
