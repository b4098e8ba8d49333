package nodetest

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// timingRules check times and order. They are checked only if the node calls the machine directly,
// because the machine does not know which results a wrapper has returned, and when.
type timingRules struct {
	deletedAt        map[types.UID]time.Time // time at which the pod became undesired
	failedStops      map[types.UID]bool      // a stop has failed, so the next container is stopped early
	graceEnds        map[string]time.Time    // by container ID: end of the grace period
	startupSucceeded map[containerKey]bool   // the startup probe has succeeded
}

func newTimingRules() *timingRules {
	return &timingRules{deletedAt: map[types.UID]time.Time{}, failedStops: map[types.UID]bool{}, graceEnds: map[string]time.Time{}, startupSucceeded: map[containerKey]bool{}}
}

// resetForNextNode deletes the grace periods and failed stops of the node that has crashed or stopped. The next
// node stops containers again, with new grace periods.
func (s *timingRules) resetForNextNode() {
	clear(s.graceEnds)
	clear(s.failedStops)
}

// minGrace is the minimum time between the stop signal and the kill of a container.
const minGrace = 2 * time.Second

// checkGraceAndSidecarOrderAndRecordStop returns an error if a later stop of a container extends its grace
// period, or if a sidecar of a deleted pod is stopped while a container runs that must exit before it. The
// sidecar order is not checked once the grace period is over or a stop of the pod has failed. It records the
// end of the grace period and a failed stop. (I33)
func (s *timingRules) checkGraceAndSidecarOrderAndRecordStop(pod *v1.Pod, about object, c memory.Call, grace time.Duration, id string, seen *runtime.PodStatus) error {
	by, again := s.graceEnds[id], false
	if !by.IsZero() {
		again = c.Began.Add(grace).After(by) && grace > minGrace
	}
	s.graceEnds[id] = c.Began.Add(grace)
	switch {
	case again:
		return fmt.Errorf("container %s gets more grace than before", about.name)
	case c.Err != nil && !errors.Is(c.Err, runtime.ErrNotFound):
		s.failedStops[pod.UID] = true
	}
	since, ends := s.deletedAt[pod.UID]
	place := stopOrder(pod, about.name)
	if !ends || c.Began.Before(since) || place == 0 || grace <= minGrace || s.failedStops[pod.UID] {
		return nil
	}
	for i := range seen.Containers {
		o := &seen.Containers[i]
		if o.State == runtime.StateRunning && isInSpec(pod, o.Name) && stopOrder(pod, o.Name) < place {
			return fmt.Errorf("sidecar %s is stopped while %s runs", about.name, o.Name)
		}
	}
	return nil
}

// stopOrder returns a container's position in the order of stops: 1 for the last sidecar in the spec, more for
// earlier sidecars, and 0 for other containers, which stop first.
func stopOrder(pod *v1.Pod, name string) int {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && podspec.IsSidecar(c) {
			return len(pod.Spec.InitContainers) - i
		}
	}
	return 0
}

// isInSpec reports whether the spec has a regular or init container of this name. It returns false for
// ephemeral containers.
func isInSpec(pod *v1.Pod, name string) bool {
	_, c := findContainer(pod, name)
	return c != nil
}

// checkActiveDeadlineAndStartupProbes returns an error if a container starts after the active deadline of its
// pod. It also returns an error if the first attempt of a container starts before the startup probe of an
// earlier sidecar has succeeded; this is not checked after a crash. (I29)
func (s *timingRules) checkActiveDeadlineAndStartupProbes(pod *v1.Pod, about object, began time.Time, rec *runtime.ContainerStatus, seen *runtime.PodStatus, crash time.Time) error {
	if d := pod.Spec.ActiveDeadlineSeconds; d != nil {
		for i := range seen.Sandboxes {
			box := &seen.Sandboxes[i]
			over := box.CreatedAt.Add(time.Duration(*d+1) * time.Second)
			if box.Incarnation == rec.Incarnation && began.After(over) {
				return fmt.Errorf("container %s is started beyond the deadline of its pod", about.name)
			}
		}
	}
	init, _ := findContainer(pod, about.name)
	for i := range pod.Spec.InitContainers[:init] {
		c := &pod.Spec.InitContainers[i]
		key := containerKey{about.pod.UID, about.pod.Incarnation, c.Name, rec.SandboxID}
		if podspec.IsSidecar(c) && c.StartupProbe != nil && rec.Attempt == 0 && crash.IsZero() && !s.startupSucceeded[key] {
			return fmt.Errorf("container %s is started before the startup probe of sidecar %s has succeeded", about.name, c.Name)
		}
	}
	return nil
}

// maxSync is the maximum time of a sync, with hooks and grace periods. During a sync the prober does
// not know that a container has exited.
const maxSync = 15 * time.Minute

// checkProbeNotAfterExitAndRecordStartup returns an error if a container is probed later than maxSync after its
// exit. It also records each success of a startup probe.
func (s *timingRules) checkProbeNotAfterExitAndRecordStartup(about object, c memory.Call, purpose runtime.Purpose, rec *runtime.ContainerStatus) error {
	if ok, _ := c.Result.(runtime.RunHandlerResult); purpose == runtime.StartupProbe && c.Err == nil && ok.OK && rec != nil {
		s.startupSucceeded[containerKey{about.pod.UID, about.pod.Incarnation, about.name, rec.SandboxID}] = true
	}
	if rec != nil && rec.State == runtime.StateExited && c.Began.Sub(rec.FinishedAt) > maxSync {
		return fmt.Errorf("container %s is probed long after its exit", about.name)
	}
	return nil
}
