package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// addEphemeralStarts adds a start step for each ephemeral container that has not run. It adds none if the pod
// is being deleted. A container that was only created has not run. If the runtime does not show the container,
// the published status decides: the container counts as run if it was created (CA-6).
func (d *decision) addEphemeralStarts() {
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	spec := &d.Pod.Spec
	for i := range spec.EphemeralContainers {
		c := (*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
		e := d.entryAtOrFirstOfSameName(len(spec.InitContainers) + len(spec.Containers) + i)
		if e.newestRun != nil {
			continue
		}
		d.readPublishedOnce()
		if e.newest != nil || !e.isPublishedAsCreated() {
			d.ephemeral = append(d.ephemeral, d.newStart(c, e, startReason(e.newest)))
		}
	}
}

// isPublishedAsCreated reports whether the published status shows that the container was created: it has a
// container ID, is running, or has terminated before.
func (e *containerEntry) isPublishedAsCreated() bool {
	s := e.published
	return s != nil && (s.ContainerID != "" || s.State.Running != nil || podstatus.LastTermination(s) != nil)
}
