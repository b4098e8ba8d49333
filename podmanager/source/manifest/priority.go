package manifest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// The priority that the kubelet expects of a static pod.
const (
	staticPriorityClass = "system-node-critical"
	staticPriority      = 2_000_001_000
)

// priorityWarning describes an unusual priority of a static pod; it is empty for a usual one. The
// API server resolves a class for other pods, but a static pod runs with what its manifest has, and
// its mirror pod is refused if the two do not agree.
func priorityWarning(pod *v1.Pod) string {
	class, priority := pod.Spec.PriorityClassName, pod.Spec.Priority
	switch {
	case class == "" && priority == nil:
		return ""
	case priority == nil:
		return fmt.Sprintf("the static pod %s/%s has the priorityClassName %q and no priority: a static pod with a class needs its priority too, as %s needs %d",
			pod.Namespace, pod.Name, class, staticPriorityClass, staticPriority)
	case class == "":
		return fmt.Sprintf("the static pod %s/%s has the priority %d and no priorityClassName: a static pod with a priority needs its class too, as %d needs %s",
			pod.Namespace, pod.Name, *priority, staticPriority, staticPriorityClass)
	case class != staticPriorityClass || *priority != staticPriority:
		return fmt.Sprintf("the static pod %s/%s has the priorityClassName %q and the priority %d: expected %s and %d",
			pod.Namespace, pod.Name, class, *priority, staticPriorityClass, staticPriority)
	}
	return ""
}

// mostWarnings bounds the warnings that are remembered as reported.
const mostWarnings = 1000

// warnAboutPriorities reports unusual priorities of pods, each text once.
func (s *standing) warnAboutPriorities(shown string, pods []*v1.Pod) {
	for _, pod := range pods {
		text := priorityWarning(pod)
		if text == "" || s.warned[text] {
			continue
		}
		if len(s.warned) >= mostWarnings {
			clear(s.warned)
		}
		s.warned[text] = true
		s.tell(Problem{Path: shown, Pod: pod.Name, Err: fmt.Errorf("%w: %s", ErrPriority, text)})
	}
}
