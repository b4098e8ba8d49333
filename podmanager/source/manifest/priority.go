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

// priorityWarning describes an unusual priority of a static pod, or returns "". Usual is no priority and no
// class, or the class staticPriorityClass with its priority. A static pod runs with the values of its manifest,
// but the API server rejects its mirror pod if class and priority do not match.
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

// maxWarnings is how many reported warnings are remembered.
const maxWarnings = 1000

// reportUnusualPriorityTextsOnce logs and reports each unusual priority of the pods that was not reported before.
// shown is the path in the reports. After maxWarnings different texts it may report old ones again.
func (s *activeFaults) reportUnusualPriorityTextsOnce(shown string, pods []*v1.Pod) {
	for _, pod := range pods {
		text := priorityWarning(pod)
		if text == "" || s.warned[text] {
			continue
		}
		if len(s.warned) >= maxWarnings {
			clear(s.warned)
		}
		s.warned[text] = true
		s.logAndReport(Problem{Path: shown, Pod: pod.Name, Err: fmt.Errorf("%w: %s", ErrPriority, text)})
	}
}
