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

// timing are rules of time and order. They are checked only where the node calls the
// machine directly: the machine does not know what a wrapper in between has reported
// to the node, and when.
type timingRules struct {
	deletedAt        map[types.UID]time.Time // since when a pod is no longer desired
	failedStops      map[types.UID]bool      // a stop has failed: the next in the queue goes on
	graceEnds        map[string]time.Time    // by container ID: when its grace is over
	startupSucceeded map[containerKey]bool   // its startup probe has succeeded
}

func newTimingRules() *timingRules {
	return &timingRules{deletedAt: map[types.UID]time.Time{}, failedStops: map[types.UID]bool{}, graceEnds: map[string]time.Time{}, startupSucceeded: map[containerKey]bool{}}
}

// resetAfterCrash: the next node starts its kills again.
func (s *timingRules) resetAfterCrash() {
	clear(s.graceEnds)
	clear(s.failedStops)
}

// minGrace is what a container has at least between the signal and the kill.
const minGrace = 2 * time.Second

// checkStop checks a stop that has succeeded: no later attempt to stop gives more
// time than an earlier one, and the sidecars of a pod that ends are stopped
// when all that is before them in the queue has ended, while grace lasts (I33).
func (s *timingRules) checkStop(pod *v1.Pod, about object, c memory.Call, grace time.Duration, id string, seen *runtime.PodStatus) error {
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

// stopOrder is a container's place among those that stop: sidecars from the last one.
func stopOrder(pod *v1.Pod, name string) int {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && podspec.IsSidecar(c) {
			return len(pod.Spec.InitContainers) - i
		}
	}
	return 0
}

// isInSpec is true of all containers but ephemeral ones, which no rule waits for.
func isInSpec(pod *v1.Pod, name string) bool {
	_, c := findContainer(pod, name)
	return c != nil
}

// checkStart checks the start of a container: not beyond the deadline of its pod, and
// the first one of all not before the sidecars before it have started (I29).
func (s *timingRules) checkStart(pod *v1.Pod, about object, began time.Time, rec *runtime.ContainerStatus, seen *runtime.PodStatus, crash time.Time) error {
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

// maxSync is how long a sync may take during which the prober does not learn of a
// container that has ended: its hooks and graces.
const maxSync = 15 * time.Minute

// checkProbe checks a probe: of a container that runs, or did a while ago.
func (s *timingRules) checkProbe(about object, c memory.Call, purpose runtime.Purpose, rec *runtime.ContainerStatus) error {
	if ok, _ := c.Result.(runtime.RunHandlerResult); purpose == runtime.StartupProbe && c.Err == nil && ok.OK && rec != nil {
		s.startupSucceeded[containerKey{about.pod.UID, about.pod.Incarnation, about.name, rec.SandboxID}] = true
	}
	if rec != nil && rec.State == runtime.StateExited && c.Began.Sub(rec.FinishedAt) > maxSync {
		return fmt.Errorf("container %s is probed long after its end", about.name)
	}
	return nil
}
