package environ

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
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
