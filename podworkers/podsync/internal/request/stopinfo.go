package request

import (
	"encoding/json"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// stopAnnotations are all annotations that setStopAnnotations writes. Annotations of the pod with
// these names are dropped.
var stopAnnotations = [...]string{
	AnnotationTerminationGracePeriod, AnnotationDeletionGracePeriod, AnnotationPreStopHandler, AnnotationPorts,
	AnnotationTerminationMessagePath, AnnotationTerminationMessagePolicy, AnnotationStopOrder,
}

// stopAnnotationLimit bounds each of these annotations in bytes. A larger one is not written, and is
// ignored when it is read.
const stopAnnotationLimit = 16 << 10

// StopInfo has everything that is needed to stop a container.
type StopInfo struct {
	PreStop *v1.LifecycleHandler // nil: no hook
	Ports   []v1.ContainerPort
	Order   int
	// The grace periods of the deletion and of the spec, if they come from the annotations of the record;
	// nil: unknown.
	DeletionGraceSeconds, SpecGraceSeconds *int64
}

// setStopAnnotations sets the annotations from which a later agent can stop a container without its spec: grace
// periods, preStop hook, ports, termination message settings and stop order. It first deletes values of these
// annotations. It leaves out a value that is empty or too long.
func setStopAnnotations(annotations map[string]string, pod *v1.Pod, c *v1.Container) {
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
		set(AnnotationPreStopHandler, marshalOrEmpty(c.Lifecycle.PreStop))
	}
	if len(c.Ports) > 0 {
		set(AnnotationPorts, marshalOrEmpty(c.Ports))
	}
	set(AnnotationTerminationMessagePath, c.TerminationMessagePath)
	set(AnnotationTerminationMessagePolicy, string(c.TerminationMessagePolicy))
	if order := stopOrderOf(pod, c.Name); order != StopOrderFirst && order <= maxStopOrder {
		set(AnnotationStopOrder, strconv.Itoa(order))
	}
}

// marshalOrEmpty returns v as JSON, or "" if v cannot be encoded.
func marshalOrEmpty(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// StopInfoOf returns the StopInfo of a container. It comes from the pod, or from the annotations of the
// record if the record is of another incarnation or the pod does not have the container. rec may be
// nil.
func StopInfoOf(pod *v1.Pod, incarnation uint64, name string, rec *runtime.ContainerStatus) StopInfo {
	if rec == nil || rec.Incarnation == incarnation {
		if c := podspec.FindContainer(podspec.AllContainers(pod), name); c != nil {
			info := StopInfo{Ports: c.Ports, Order: stopOrderOf(pod, name)}
			if c.Lifecycle != nil {
				info.PreStop = c.Lifecycle.PreStop
			}
			return info
		}
	}
	if rec == nil {
		return StopInfo{Order: stopOrderOf(pod, name)}
	}
	return parseStopInfo(rec.Annotations)
}

// parseStopInfo returns the values of the annotations that setStopAnnotations has set, as far as StopInfo has
// them. It ignores invalid values, because another program may have created the container.
func parseStopInfo(annotations map[string]string) StopInfo {
	info := StopInfo{
		DeletionGraceSeconds: parseSeconds(annotations[AnnotationDeletionGracePeriod]),
		SpecGraceSeconds:     parseSeconds(annotations[AnnotationTerminationGracePeriod]),
	}
	var handler v1.LifecycleHandler
	if unmarshalBounded(annotations[AnnotationPreStopHandler], &handler) {
		info.PreStop = &handler
	}
	var ports []v1.ContainerPort
	if unmarshalBounded(annotations[AnnotationPorts], &ports) {
		info.Ports = ports
	}
	if n, err := strconv.Atoi(annotations[AnnotationStopOrder]); err == nil && n >= StopOrderEphemeral && n <= maxStopOrder {
		info.Order = n
	}
	return info
}

// parseSeconds parses a number of seconds. It returns nil if the text is not a number or the number is
// negative.
func parseSeconds(text string) *int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return &n
	}
	return nil
}

// unmarshalBounded parses JSON into the value that into points to, and returns whether that succeeded. It
// returns false without parsing if the text is empty or too long.
func unmarshalBounded(text string, into any) (parsed bool) {
	return text != "" && len(text) <= stopAnnotationLimit && json.Unmarshal([]byte(text), into) == nil
}

// The positions in the order in which the containers of a pod stop. The positions of sidecars are
// greater, and grow from the last sidecar in the spec to the first.
const (
	// StopOrderEphemeral is the position of an ephemeral container. It stops with the first containers,
	// and no container waits for it, because an open shell would use up the grace period of all.
	StopOrderEphemeral = -1
	// StopOrderFirst is the position of every other container.
	StopOrderFirst = 0
	// maxStopOrder bounds the positions that are read from annotations.
	maxStopOrder = 1000
)

// stopOrderOf returns the position of a container in the order in which the containers of a pod stop. Sidecars
// have positive positions, the last one in the spec the lowest. Any other container has StopOrderFirst, and an
// ephemeral one StopOrderEphemeral.
func stopOrderOf(pod *v1.Pod, name string) int {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && podspec.IsSidecar(c) {
			return len(pod.Spec.InitContainers) - i
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			return StopOrderEphemeral
		}
	}
	return StopOrderFirst
}
