package request

import (
	"encoding/json"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// stopAnnotations are all of them. What the pod itself says under these names
// is not ours.
var stopAnnotations = [...]string{
	AnnotationTerminationGracePeriod, AnnotationDeletionGracePeriod, AnnotationPreStopHandler, AnnotationPorts,
	AnnotationTerminationMessagePath, AnnotationTerminationMessagePolicy, AnnotationStopOrder,
}

// stopAnnotationLimit bounds each of them, in bytes. A larger one is left out,
// and not believed.
const stopAnnotationLimit = 16 << 10

// StopInfo is what has to be known of a container to stop it.
type StopInfo struct {
	PreStop *v1.LifecycleHandler // nil: it has none
	Ports   []v1.ContainerPort
	Order   int
	Grace   *time.Duration // as its record says; nil if that does not
}

// setStopInfo writes into the annotations of a container that is to be made
// what stopping it will need.
func setStopInfo(annotations map[string]string, pod *v1.Pod, c *v1.Container) {
	for _, name := range stopAnnotations {
		delete(annotations, name)
	}
	set := func(name, value string) {
		if value != "" && len(value) <= stopAnnotationLimit {
			annotations[name] = value
		}
	}
	if n := pod.Spec.TerminationGracePeriodSeconds; n != nil {
		set(AnnotationTerminationGracePeriod, strconv.FormatInt(*n, 10))
	}
	if n := pod.DeletionGracePeriodSeconds; n != nil {
		set(AnnotationDeletionGracePeriod, strconv.FormatInt(*n, 10))
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		set(AnnotationPreStopHandler, asJSON(c.Lifecycle.PreStop))
	}
	if len(c.Ports) > 0 {
		set(AnnotationPorts, asJSON(c.Ports))
	}
	set(AnnotationTerminationMessagePath, c.TerminationMessagePath)
	set(AnnotationTerminationMessagePolicy, string(c.TerminationMessagePolicy))
	if order := stopOrder(pod, c.Name); order != First && order <= last {
		set(AnnotationStopOrder, strconv.Itoa(order))
	}
}

// asJSON is empty for what cannot be written.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// StopInfoOf is what the pod of an incarnation says of one of its containers, or else
// what its record does: that is of a former incarnation, or the pod is not known any more.
// rec may be nil.
func StopInfoOf(pod *v1.Pod, incarnation uint64, name string, rec *runtime.ContainerStatus) StopInfo {
	if rec == nil || rec.Incarnation == incarnation {
		if c := podspec.FindContainer(podspec.AllContainers(pod), name); c != nil {
			info := StopInfo{Ports: c.Ports, Order: stopOrder(pod, name)}
			if c.Lifecycle != nil {
				info.PreStop = c.Lifecycle.PreStop
			}
			return info
		}
	}
	if rec == nil {
		return StopInfo{Order: stopOrder(pod, name)}
	}
	return readStopInfo(rec.Annotations)
}

// readStopInfo reads back what setStopInfo has written. Garbage counts as
// nothing: anybody may have made the container.
func readStopInfo(annotations map[string]string) StopInfo {
	var info StopInfo
	for _, name := range [...]string{AnnotationDeletionGracePeriod, AnnotationTerminationGracePeriod} {
		if n, err := strconv.ParseInt(annotations[name], 10, 64); err == nil && n >= 0 && info.Grace == nil {
			info.Grace = new(podspec.SecondsToDuration(n))
		}
	}
	var handler v1.LifecycleHandler
	if fromJSON(annotations[AnnotationPreStopHandler], &handler) {
		info.PreStop = &handler
	}
	var ports []v1.ContainerPort
	if fromJSON(annotations[AnnotationPorts], &ports) {
		info.Ports = ports
	}
	if n, err := strconv.Atoi(annotations[AnnotationStopOrder]); err == nil && n >= Unawaited && n <= last {
		info.Order = n
	}
	return info
}

// fromJSON reports whether a text could be read. If not, what it was read into
// is not to be used.
func fromJSON(text string, into any) bool {
	return text != "" && len(text) <= stopAnnotationLimit && json.Unmarshal([]byte(text), into) == nil
}

// The places in the order in which the containers of a pod are stopped. Those
// of sidecars are greater, and grow from the last one in the spec to the first.
const (
	// Unawaited is an ephemeral container: it is stopped with the first, and
	// nobody waits for it, as one with a shell would use up everybody's grace.
	Unawaited = -1
	// First is any other container.
	First = 0
	// last bounds what is believed of an annotation.
	last = 1000
)

// stopOrder is the place of a container by its name. One that the pod does not
// have is among the first.
func stopOrder(pod *v1.Pod, name string) int {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && podspec.IsSidecar(c) {
			return len(pod.Spec.InitContainers) - i
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			return Unawaited
		}
	}
	return First
}
