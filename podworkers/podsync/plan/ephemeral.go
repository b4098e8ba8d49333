package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// startEphemeralContainers starts each ephemeral container that has not run, unless the pod is being
// deleted. An ephemeral container runs once, also before the pod is initialized (CA-6). A container
// that was only created has not run.
func (d *decision) startEphemeralContainers() {
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	spec := &d.Pod.Spec
	for i := range spec.EphemeralContainers {
		c := (*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
		e := d.entryWithRecordsAt(len(spec.InitContainers) + len(spec.Containers) + i)
		if e.newestRun != nil {
			continue
		}
		d.readPublishedOnce()
		if e.newest != nil || !e.isPublishedAsCreated() {
			d.ephemeral = append(d.ephemeral, d.newStart(c, e, startReason(e.newest)))
		}
	}
}

// isPublishedAsCreated reports whether the published status shows that a container was created.
func (e *containerEntry) isPublishedAsCreated() bool {
	s := e.published
	return s != nil && (s.ContainerID != "" || s.State.Running != nil || podstatus.LastTermination(s) != nil)
}
