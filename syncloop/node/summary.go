package node

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Summary is the state of a pod on one line, like the line of kubectl get pods.
type Summary struct {
	Ready  string // "1/2": ready containers, and all regular containers and sidecars
	Status string // "Running", "CrashLoopBackOff", "Init:1/2", "Terminating" ...
	// Restarts is the number of restarts of regular containers and sidecars. Before the pod is
	// initialized, it is the number of restarts of the init containers up to the running one.
	Restarts int32
	// LastRestart is the time at which one of these containers last terminated before a restart; zero
	// if unknown or never.
	LastRestart time.Time
}

// String returns for example "1/2 Running, 3 restarts".
func (s Summary) String() string {
	switch s.Restarts {
	case 0:
		return s.Ready + " " + s.Status
	case 1:
		return s.Ready + " " + s.Status + ", 1 restart"
	}
	return fmt.Sprintf("%s %s, %d restarts", s.Ready, s.Status, s.Restarts)
}

// Summarize returns the summary of a pod. terminating says whether the worker of the pod terminates it;
// a deletion timestamp has the same effect. A pod with a running container is Terminating even if its
// phase is terminal already.
func Summarize(pod *v1.Pod, terminating bool) Summary {
	s := Summary{Status: string(pod.Status.Phase)}
	s.Status = cmp.Or(s.Status, string(v1.PodPending))
	if pod.Status.Reason != "" {
		s.Status = pod.Status.Reason
	}
	initialized := podstatus.IsConditionTrue(pod.Status.Conditions, v1.PodInitialized)
	initializing, ready := s.addInitContainers(pod, initialized)
	ready += s.addRegularContainers(pod, initializing && !initialized)
	s.Ready = fmt.Sprintf("%d/%d", ready, len(pod.Spec.Containers)+countSidecars(pod))
	if (terminating || pod.DeletionTimestamp != nil) && (hasRunningInitOrRegularContainer(pod) || !podstatus.IsTerminal(pod.Status.Phase)) {
		s.Status = "Terminating"
	}
	return s
}

// hasRunningInitOrRegularContainer reports whether the status of a pod has a running init or regular container.
// Ephemeral containers do not count.
func hasRunningInitOrRegularContainer(pod *v1.Pod) bool {
	running := func(c v1.ContainerStatus) bool { return c.State.Running != nil }
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, running) || slices.ContainsFunc(pod.Status.ContainerStatuses, running)
}

// addInitContainers adds the restarts of the init containers to the summary, and sets the status from the first
// unfinished one. It returns whether an init container is unfinished, and the number of ready sidecars. In an
// initialized pod it counts only restarts of sidecars, and only the reason of a waiting or terminated sidecar
// sets the status.
func (s *Summary) addInitContainers(pod *v1.Pod, initialized bool) (initializing bool, ready int) {
	var before Summary // restarts that count only before the pod is initialized
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		init := podspec.InitContainer(pod, c.Name)
		sidecar := init != nil && podspec.IsSidecar(init)
		switch {
		case initializing:
		case sidecar:
			s.addRestarts(c.RestartCount, lastStateFinishedAt(c))
		default:
			before.addRestarts(c.RestartCount, lastStateFinishedAt(c))
		}
		if sidecar {
			ready += boolToInt(c.State.Running != nil && c.Ready)
		}
		if initializing || isInitContainerDone(c, sidecar) || podstatus.IsTerminal(pod.Status.Phase) && c.State.Terminated == nil {
			continue
		}
		initializing = true
		why := containerReason(c)
		switch known := why != "" && why != string(podstatus.ReasonPodInitializing); {
		case initialized && known && sidecar:
			s.Status = why
		case initialized:
		case known:
			s.Status = "Init:" + why
		default:
			s.Status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
	}
	if initializing && !initialized {
		s.addRestarts(before.Restarts, before.LastRestart)
	}
	return initializing, ready
}

// countSidecars returns the number of sidecars in the spec of the pod, including sidecars that have no status
// yet.
func countSidecars(pod *v1.Pod) (n int) {
	for i := range pod.Spec.InitContainers {
		n += boolToInt(podspec.IsSidecar(&pod.Spec.InitContainers[i]))
	}
	return n
}

// addRestarts adds n to the restarts in the summary. last is when the container terminated before its last
// restart; the summary keeps the latest such time.
func (s *Summary) addRestarts(n int32, last time.Time) {
	s.Restarts += n
	if last.After(s.LastRestart) {
		s.LastRestart = last
	}
}

// lastStateFinishedAt returns finishedAt of lastState.terminated, or the zero time if the container has
// no such state.
func lastStateFinishedAt(c *v1.ContainerStatus) (at time.Time) {
	if t := c.LastTerminationState.Terminated; t != nil {
		at = t.FinishedAt.Time
	}
	return at
}

// boolToInt returns 1 for true and 0 for false.
func boolToInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// isInitContainerDone reports whether an init container or sidecar has exited with code 0, or a sidecar runs
// and has started.
func isInitContainerDone(c *v1.ContainerStatus, sidecar bool) bool {
	if c.State.Terminated != nil {
		return c.State.Terminated.ExitCode == 0
	}
	return sidecar && c.State.Running != nil && c.Started != nil && *c.Started
}

// addRegularContainers adds the restarts of the regular containers unless the pod is initializing, and returns
// how many containers are ready. The first container with a waiting or termination reason sets the status,
// unless the pod is initializing or has its own reason. For Completed beside a ready container the status is
// Running or NotReady.
func (s *Summary) addRegularContainers(pod *v1.Pod, initializing bool) (ready int) {
	running, why := false, ""
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		if !initializing {
			s.addRestarts(c.RestartCount, lastStateFinishedAt(c))
		}
		if c.State.Running != nil && c.Ready {
			ready++
			running = true
		}
		if r := containerReason(c); r != "" {
			why = r
		}
	}
	if initializing || why == "" || pod.Status.Reason != "" {
		return ready
	}
	s.Status = why
	if why == string(podstatus.ReasonCompleted) && running {
		s.Status = "NotReady"
		if podstatus.IsConditionTrue(pod.Status.Conditions, v1.PodReady) {
			s.Status = string(v1.PodRunning)
		}
	}
	return ready
}

// containerReason returns the reason of a waiting or terminated container, as kubectl shows it. If a terminated
// container has no reason, it returns the signal or the exit code. It returns "" for a running container.
func containerReason(c *v1.ContainerStatus) string {
	if w := c.State.Waiting; w != nil {
		return w.Reason
	}
	t := c.State.Terminated
	switch {
	case t == nil:
		return ""
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}
