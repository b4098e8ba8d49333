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

// field is what a variable is told of its pod.
func (r *resolution) field(path string) (string, error) {
	switch path {
	case "spec.nodeName", "spec.host":
		return r.Pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return r.Pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return primary(r.HostIPs), nil
	case "status.hostIPs":
		return strings.Join(r.HostIPs, ","), nil
	case "status.podIP":
		return primary(r.PodIPs), nil
	case "status.podIPs":
		return strings.Join(r.PodIPs, ","), nil
	case "metadata.labels", "metadata.annotations":
		return "", fmt.Errorf("%w: a variable cannot be all of %s", ErrInvalid, path)
	}
	return Field(r.Pod, path)
}

func primary(ips []string) string {
	if len(ips) == 0 {
		return ""
	}
	return ips[0]
}

// Field is what a file of the downward API is told of a pod: its name,
// namespace, UID, labels or annotations, or one of these. A label that is not
// there is empty.
func Field(pod *v1.Pod, path string) (string, error) {
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return listed(pod.Labels), nil
	case "metadata.annotations":
		return listed(pod.Annotations), nil
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
	return "", fmt.Errorf("%w: there is no field %s", ErrInvalid, shown(path))
}

// listed writes one key="value" a line, in order.
func listed(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for key, value := range m {
		lines = append(lines, key+"="+strconv.Quote(value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Resource is a request or a limit of a container of the pod, in units of a
// divisor, rounded up. The reference names another container than own, or none. A
// limit that is not set is that of the pod as a whole, or else what the node has.
func Resource(pod *v1.Pod, own string, ref *v1.ResourceFieldSelector, allocatable v1.ResourceList) (string, error) {
	name := ref.ContainerName
	name = cmp.Or(name, own)
	c := podspec.FindContainer(podspec.AllContainers(pod), name)
	if c == nil {
		return "", fmt.Errorf("%w: the pod has no container %s", ErrInvalid, shown(name))
	}
	kind, of, _ := strings.Cut(ref.Resource, ".")
	if !tellable(kind, of) {
		return "", fmt.Errorf("%w: there is no resource %s", ErrInvalid, shown(ref.Resource))
	}
	amount := amountOf(pod, c, kind, v1.ResourceName(of), allocatable)
	return divided(amount, ref.Divisor, of == string(v1.ResourceCPU))
}

// tellable reports whether a container can be told its requests or limits of
// something.
func tellable(kind, name string) bool {
	if kind != "limits" && kind != "requests" {
		return false
	}
	switch v1.ResourceName(name) {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(name, v1.ResourceHugePagesPrefix) && len(name) > len(v1.ResourceHugePagesPrefix)
}

func amountOf(pod *v1.Pod, c *v1.Container, kind string, name v1.ResourceName, allocatable v1.ResourceList) resource.Quantity {
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

// divided is how many divisors there are in an amount. CPU is counted in
// thousandths, all else in ones.
func divided(amount, divisor resource.Quantity, fine bool) (string, error) {
	if divisor.IsZero() {
		divisor = *resource.NewQuantity(1, resource.DecimalSI)
	}
	if divisor.Sign() < 0 {
		return "", fmt.Errorf("%w divisor %s", ErrInvalid, divisor.String())
	}
	a, d := amount.Value(), divisor.Value()
	if fine && a < math.MaxInt64/1000 && d < math.MaxInt64/1000 {
		a, d = amount.MilliValue(), divisor.MilliValue()
	}
	a, d = max(a, 0), max(d, 1)
	n := a / d
	if a%d != 0 {
		n++
	}
	return strconv.FormatInt(n, 10), nil
}
