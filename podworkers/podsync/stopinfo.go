package podsync

import (
	"encoding/json"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
	"github.com/podkeel/podkeel/internal/deadline"
	"github.com/podkeel/podkeel/runtime"
)

// Annotations of containers from which one can be stopped as its pod asked for
// when the pod is not known any more. All but the last are the kubelet's.
const (
	// AnnotationTerminationGracePeriod is the grace of the spec, in seconds.
	AnnotationTerminationGracePeriod = "io.kubernetes.pod.terminationGracePeriod"
	// AnnotationDeletionGracePeriod is the grace of a deletion that had been
	// asked for when the container was made, in seconds.
	AnnotationDeletionGracePeriod = "io.kubernetes.pod.deletionGracePeriod"
	// AnnotationPreStopHandler is the preStop hook, as JSON.
	AnnotationPreStopHandler = "io.kubernetes.container.preStopHandler"
	// AnnotationPorts are the container's ports, as JSON: a hook may name one.
	AnnotationPorts = "io.kubernetes.container.ports"
	// AnnotationTerminationMessagePath is the path of its termination message. Like the
	// next one it is written for other tools that know it from the kubelet. It is not
	// read here: no status is published for an orphan, and for any other pod the spec
	// has the path.
	AnnotationTerminationMessagePath = "io.kubernetes.container.terminationMessagePath"
	// AnnotationTerminationMessagePolicy says what stands in for them, for others.
	AnnotationTerminationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy"
	// AnnotationStopOrder is the container's place in the order in which those
	// of a pod are stopped, if it is not among the first.
	AnnotationStopOrder = "podkeel.dev/stop-order"
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

// stopInfo is what has to be known of a container to stop it.
type stopInfo struct {
	preStop *v1.LifecycleHandler // nil: it has none
	ports   []v1.ContainerPort
	order   int
	grace   *time.Duration // as its record says; nil if that does not
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
	if order := stopOrder(pod, c.Name); order != first && order <= last {
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

// stopInfo is what the pod says of one of its containers, or else what its
// record does: it is of a previous incarnation, or the pod is not known any more.
func (v *syncPass) stopInfo(name string, rec *runtime.ContainerStatus) stopInfo {
	if rec == nil || rec.Incarnation == v.incarnation.number {
		if c := containers.Named(containers.All(v.pod), name); c != nil {
			info := stopInfo{ports: c.Ports, order: stopOrder(v.pod, name)}
			if c.Lifecycle != nil {
				info.preStop = c.Lifecycle.PreStop
			}
			return info
		}
	}
	if rec == nil {
		return stopInfo{order: stopOrder(v.pod, name)}
	}
	return readStopInfo(rec.Annotations)
}

// readStopInfo reads back what setStopInfo has written. Garbage counts as
// nothing: anybody may have made the container.
func readStopInfo(annotations map[string]string) stopInfo {
	var info stopInfo
	for _, name := range [...]string{AnnotationDeletionGracePeriod, AnnotationTerminationGracePeriod} {
		if n, err := strconv.ParseInt(annotations[name], 10, 64); err == nil && n >= 0 && info.grace == nil {
			info.grace = new(deadline.Seconds(n))
		}
	}
	var handler v1.LifecycleHandler
	if fromJSON(annotations[AnnotationPreStopHandler], &handler) {
		info.preStop = &handler
	}
	var ports []v1.ContainerPort
	if fromJSON(annotations[AnnotationPorts], &ports) {
		info.ports = ports
	}
	if n, err := strconv.Atoi(annotations[AnnotationStopOrder]); err == nil && n >= unawaited && n <= last {
		info.order = n
	}
	return info
}

// fromJSON reports whether a text could be read. If not, what it was read into
// is not to be used.
func fromJSON(text string, into any) bool {
	return text != "" && len(text) <= stopAnnotationLimit && json.Unmarshal([]byte(text), into) == nil
}
