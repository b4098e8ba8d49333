package eviction

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// evictPodsOverLocalLimits makes each pod a victim that uses more local storage than its limits allow, except
// critical pods and terminating pods whose grace period cannot become shorter. It returns true if the decision
// then has a victim. Such evictions have no condition DisruptionTarget. It does nothing if the policy ignores
// local limits. (EV-27)
func (s *pass) evictPodsOverLocalLimits() (foundAny bool) {
	if s.policy.IgnoreLocalLimits {
		return false
	}
	for i := range s.pods {
		p := &s.pods[i]
		if p.isCritical || p.Stopped || p.Terminating && !s.canShorten(p, MinGraceSeconds) {
			continue
		}
		if cause, message := p.exceededLimit(s.observed.Layout); cause != "" {
			s.decision.Victims = append(s.decision.Victims, Victim{
				UID: p.pod.UID, GraceSeconds: MinGraceSeconds, Message: message, Cause: cause, Shortens: p.Terminating,
			})
		}
	}
	return len(s.decision.Victims) > 0
}

// exceededLimit returns the first limit of local storage that the pod exceeds, as a cause and a message: limits
// of emptyDirs come first, then the limit of the pod, then limits of containers. It returns empty texts if the
// pod exceeds none or its usage was not measured. A figure that is a lower bound is compared like any other.
// Writable layers count only if they share the file system of the node. (EV-28)
func (p *Pod) exceededLimit(layout Layout) (cause, message string) {
	if !p.Usage.Measured {
		return "", ""
	}
	for _, v := range p.limitedVolumes {
		for _, used := range p.Usage.Volumes {
			if used.Name == v.name && sumFigures(used.Bytes) > valueSaturating(&v.limit) {
				return CauseEmptyDirLimit, fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.name, v.limit.String())
			}
		}
	}
	parts := diskParts{layers: layout == OneFilesystem, logs: true, volumes: true}
	if p.storageLimit != nil && addSaturating(p.diskUsage(parts, false), sumFigures(p.Usage.Other.Bytes)) > valueSaturating(p.storageLimit) {
		return CausePodLimit, fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", p.storageLimit.String())
	}
	for _, c := range p.containers {
		limit, ok := c.Resources.Limits[v1.ResourceEphemeralStorage]
		used := p.containerUsage(c.Name)
		if !ok || used == nil {
			continue
		}
		bytes := sumFigures(used.Logs.Bytes)
		if parts.layers {
			bytes = addSaturating(bytes, sumFigures(used.Layer.Bytes))
		}
		if bytes > valueSaturating(&limit) {
			return CauseContainerLimit, fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.Name, limit.String())
		}
	}
	return "", ""
}

// containerUsage returns the usage of a container, or nil if it is not known.
func (p *Pod) containerUsage(name string) *ContainerUsage {
	for i := range p.Usage.Containers {
		if p.Usage.Containers[i].Name == name {
			return &p.Usage.Containers[i]
		}
	}
	return nil
}
