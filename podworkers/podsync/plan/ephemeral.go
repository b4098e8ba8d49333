package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// startEphemeral starts the ephemeral containers that have not run: each once, whatever
// the pod is doing, and never again (CA-6). One that was only created has not.
func (d *decision) startEphemeral() {
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	spec := &d.Pod.Spec
	for i := range spec.EphemeralContainers {
		c := (*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
		e := d.at(len(spec.InitContainers) + len(spec.Containers) + i)
		if e.ran != nil {
			continue
		}
		d.recall()
		if e.newest != nil || !e.saidCreated() {
			d.ephemeral = append(d.ephemeral, d.start(c, e, whyStart(e.newest)))
		}
	}
}

// saidCreated reports whether a container without a record had one, by the
// published status.
func (e *entry) saidCreated() bool {
	s := e.published
	return s != nil && (s.ContainerID != "" || s.State.Running != nil || podstatus.LastTermination(s) != nil)
}
