package nodetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// rules has the state that is needed to check the calls of a node.
type rules struct {
	specs          map[types.UID][]*v1.Pod    // every desired spec of a UID
	lastStarts     map[containerKey]time.Time // time of the last start
	calledPreStops map[string]bool            // by container ID: its preStop hook was called
	firstStops     map[string]time.Time       // by container ID: time of the first stop by the present node
	stopped        map[string]bool            // by container ID: a node has sent a stop, or has announced one
	newestAttempts map[containerKey]uint32    // newest created attempt
	crashedAt      time.Time                  // time of the last crash

	timing   *timingRules       // nil: times are not checked
	rejected map[types.UID]bool // pods that the present node has rejected
}

func newRules() rules {
	return rules{
		specs: map[types.UID][]*v1.Pod{}, lastStarts: map[containerKey]time.Time{}, calledPreStops: map[string]bool{}, firstStops: map[string]time.Time{},
		stopped: map[string]bool{}, rejected: map[types.UID]bool{}, newestAttempts: map[containerKey]uint32{},
	}
}

// containerKey identifies a container in one incarnation of its pod.
type containerKey struct {
	uid         types.UID
	incarnation uint64
	name        string
	sandbox     string // set for ordinary init containers, which run again in a new sandbox
}

// storeCrashTimeAndResetForNextNode stores now as the time at which the simulated node crashed or stopped. It
// deletes the state that the next node does not have: the preStop hooks that were called, the time of the first
// stop call for each container, the rejected pods, the grace periods and the failed stops.
func (r *rules) storeCrashTimeAndResetForNextNode(now time.Time) {
	r.crashedAt = now
	clear(r.calledPreStops)
	clear(r.firstStops)
	clear(r.rejected)
	if r.timing != nil {
		r.timing.resetForNextNode()
	}
}

// recordDesired stores the spec of a pod that becomes desired. The pod counts as neither rejected nor deleted
// from then on.
func (tr *trace) recordDesired(pod *v1.Pod) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r := &tr.mu.rules
	r.specs[pod.UID] = append(r.specs[pod.UID], pod)
	delete(r.rejected, pod.UID)
	if r.timing != nil {
		delete(r.timing.deletedAt, pod.UID)
	}
}

// recordDeleted stores when a pod became undesired. It does nothing if times are not checked or the pod was
// deleted before.
func (tr *trace) recordDeleted(uid types.UID) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if s := tr.mu.rules.timing; s != nil && s.deletedAt[uid].IsZero() {
		s.deletedAt[uid] = tr.now()
	}
}

// allSpecsHaveEqualContainers reports whether all desired specs of a UID have the same init and regular
// containers, by name and kind, in the same order.
func (r *rules) allSpecsHaveEqualContainers(uid types.UID) bool {
	specs := r.specs[uid]
	for _, pod := range specs {
		if !slices.Equal(containerNamesAndKinds(pod), containerNamesAndKinds(specs[0])) {
			return false
		}
	}
	return true
}

// containerNamesAndKinds returns the names of a pod's init and regular containers. The name of an init
// container is followed by whether it is a sidecar.
func containerNamesAndKinds(pod *v1.Pod) []string {
	var list []string
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		list = append(list, fmt.Sprint(c.Name, podspec.IsSidecar(c)))
	}
	for i := range pod.Spec.Containers {
		list = append(list, pod.Spec.Containers[i].Name)
	}
	return list
}

// withSidecarsStartedBeforeCrash returns a copy of the state in which each sidecar that has been running since
// before the last crash has Started. The new node has not run the startup probe again, so the status alone
// would look as if later containers had started too early. Without a crash the state is unchanged.
func (r *rules) withSidecarsStartedBeforeCrash(state node.PodState) node.PodState {
	if r.crashedAt.IsZero() || state.Pod == nil {
		return state
	}
	state.Pod = state.Pod.DeepCopy()
	for i := range state.Pod.Status.InitContainerStatuses {
		c := &state.Pod.Status.InitContainerStatuses[i]
		if c.State.Running != nil && !c.State.Running.StartedAt.After(r.crashedAt) {
			c.Started = new(true)
		}
	}
	return state
}

// checkAndRecordCall checks a call of the runtime against the spec of its pod, and adds a fault if it breaks a
// rule. It also stores starts, stops, hooks and attempts for later checks. For a UID without exactly one
// desired spec it stores only stops, because it cannot know which spec applies.
func (tr *trace) checkAndRecordCall(about object, c memory.Call) {
	seen := tr.podStatus(about.pod.UID)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if q, ok := c.Request.(runtime.StopContainerRequest); ok {
		tr.mu.rules.stopped[q.ContainerID] = true // Also if the pod is unknown, because the reply to the creation was lost.
	}
	specs := tr.mu.rules.specs[about.pod.UID]
	if len(specs) != 1 {
		return
	}
	r, pod := &tr.mu.rules, specs[0]
	var err error
	switch q := c.Request.(type) {
	case runtime.RunSandboxRequest:
		if r.rejected[pod.UID] && c.Err == nil {
			err = errors.New("a rejected pod gets a sandbox")
		}
	case runtime.CreateContainerRequest:
		if c.Err == nil {
			r.newestAttempts[containerKey{pod.UID, about.pod.Incarnation, q.Name, q.SandboxID}] = q.Attempt
		}
	case runtime.StartContainerRequest:
		if c.Err == nil {
			err = errors.Join(r.checkOrderAndPolicyAndRecordStart(tr.now(), pod, about, q.ContainerID, seen), r.checkStartTimeIfEnabled(pod, about, c, q.ContainerID, seen))
		}
	case runtime.RunHandlerRequest:
		err = r.checkAndRecordPreStopHook(q, c.Began)
		if r.timing != nil && q.Purpose != runtime.PostStartHook && q.Purpose != runtime.PreStopHook {
			err = r.timing.checkProbeNotAfterExitAndRecordStartup(about, c, q.Purpose, findContainerStatus(seen, q.ContainerID))
		}
	case runtime.StopContainerRequest:
		if _, before := r.firstStops[q.ContainerID]; !before {
			r.firstStops[q.ContainerID] = c.Began
		}
		if r.timing != nil {
			err = r.timing.checkGraceAndSidecarOrderAndRecordStop(pod, about, c, q.Grace, q.ContainerID, seen)
		}
	}
	if err != nil {
		tr.faults.formatAndStoreFault("at %s: pod %s: %v", tr.now().Sub(Epoch), about, err)
	}
}

// recordStopFromKillingEvent records, from a Killing event, that the node is stopping the newest container of
// that name. The container's exit then does not count as an exit of its own, even if the stop call fails. It
// ignores other events.
func (tr *trace) recordStopFromKillingEvent(uid types.UID, reason, message string) {
	name, ok := strings.CutPrefix(message, "Stopping container ")
	if name, _, _ = strings.Cut(name, ":"); !ok || reason != "Killing" || tr.podStatus == nil {
		return
	}
	seen := tr.podStatus(uid) // Without the lock, because a runtime of the test may wait.
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var newest *runtime.ContainerStatus
	for i := range seen.Containers {
		if rec := &seen.Containers[i]; rec.Name == name && (newest == nil || rec.Attempt > newest.Attempt) {
			newest = rec
		}
	}
	if newest != nil && newest.State != runtime.StateExited {
		tr.mu.rules.stopped[newest.ID] = true
	}
}

// checkStartTimeIfEnabled returns an error if a container starts after the active deadline of its pod or before
// the startup probe of a sidecar has succeeded. It checks nothing unless the test checks times.
func (r *rules) checkStartTimeIfEnabled(pod *v1.Pod, about object, c memory.Call, id string, seen *runtime.PodStatus) error {
	rec := findContainerStatus(seen, id)
	if r.timing == nil || rec == nil {
		return nil
	}
	return r.timing.checkActiveDeadlineAndStartupProbes(pod, about, c.Began, rec, seen, r.crashedAt)
}

// checkAndRecordPreStopHook returns an error if a preStop hook is called twice, or is called after the first
// stop of the container. If neither holds, it records the call. It does nothing for other handlers. (I32)
func (r *rules) checkAndRecordPreStopHook(req runtime.RunHandlerRequest, began time.Time) error {
	if req.Purpose != runtime.PreStopHook {
		return nil
	}
	stop, stopped := r.firstStops[req.ContainerID]
	switch {
	case r.calledPreStops[req.ContainerID]:
		return fmt.Errorf("the preStop hook of %s is called twice", req.ContainerID)
	case stopped && began.After(stop):
		return fmt.Errorf("the preStop hook of %s is called after the stop", req.ContainerID)
	}
	r.calledPreStops[req.ContainerID] = true
	return nil
}

// checkOrderAndPolicyAndRecordStart returns an error if a started container may not start yet, because an init
// container before it is not done, or not again, because of its restart policy. It also records the time of the
// start. (I29, I30)
func (r *rules) checkOrderAndPolicyAndRecordStart(now time.Time, pod *v1.Pod, about object, id string, seen *runtime.PodStatus) error {
	init, c := findContainer(pod, about.name)
	rec := findContainerStatus(seen, id)
	if c == nil || rec == nil {
		return nil
	}
	key := containerKey{about.pod.UID, about.pod.Incarnation, about.name, ""}
	if init < len(pod.Spec.InitContainers) || pod.Spec.RestartPolicy != v1.RestartPolicyNever {
		key.sandbox = rec.SandboxID // In a new sandbox the pod's policy decides.
	}
	last, again := r.lastStarts[key]
	r.lastStarts[key] = now
	if last.Before(r.crashedAt) && previousExitedContainerInSandbox(key.sandbox, seen, rec) == nil {
		again = false // A node that was started later cannot know.
	}
	if init < len(pod.Spec.InitContainers) && !hasOtherContainerFromIndex(pod, seen, rec, init) {
		again = false // No record shows how far the pod was, so it starts with its first init container again.
	}
	if again && effectiveRestartPolicy(pod, c) == v1.RestartPolicyNever && !hasRestartRules(pod) {
		return fmt.Errorf("container %s runs a second time, and its policy is Never", about.name)
	}
	// Init containers run again in a new sandbox. A container that was stopped did not complete, whatever its
	// exit code. That holds after a crash of the agent too: the next agent finds the attempt that the crashed
	// one had created.
	regular := init == len(pod.Spec.InitContainers)
	if last := previousExitedContainer(seen, rec); regular && last != nil && last.ExitCode == 0 && !r.stopped[last.ID] && effectiveRestartPolicy(pod, c) == v1.RestartPolicyOnFailure && !hasRestartRules(pod) {
		return fmt.Errorf("container %s runs again after a success", about.name)
	}
	for i := range pod.Spec.InitContainers[:init] {
		before := &pod.Spec.InitContainers[i]
		newest := r.newestAttempts[containerKey{about.pod.UID, about.pod.Incarnation, before.Name, rec.SandboxID}]
		if err := checkInitContainerDone(before, seen, rec, newest); err != nil {
			return fmt.Errorf("container %s is started, and %w", about.name, err)
		}
	}
	return nil
}

// hasOtherContainerFromIndex reports whether the sandbox of rec has a container, other than rec, that is the
// init container with the index init or a later container of the spec. Only such a container shows how far the
// pod has come.
func hasOtherContainerFromIndex(pod *v1.Pod, seen *runtime.PodStatus, rec *runtime.ContainerStatus, init int) bool {
	for i := range seen.Containers {
		r := &seen.Containers[i]
		if r.ID == rec.ID || r.SandboxID != rec.SandboxID {
			continue
		}
		if place, c := findContainer(pod, r.Name); c != nil && place >= init {
			return true
		}
	}
	return false
}

// findContainer returns an init or regular container of the spec, and the number of init containers before it.
// It returns nil if there is no such container.
func findContainer(pod *v1.Pod, name string) (init int, c *v1.Container) {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return i, &pod.Spec.InitContainers[i]
		}
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return len(pod.Spec.InitContainers), &pod.Spec.Containers[i]
		}
	}
	return 0, nil
}

// checkInitContainerDone returns an error if the newest attempt of an init container has not succeeded in the
// sandbox of the started container, or if a sidecar was never started there. It returns nil if the runtime no
// longer has the newest attempt.
func checkInitContainerDone(c *v1.Container, seen *runtime.PodStatus, started *runtime.ContainerStatus, newestAttempt uint32) error {
	var newest *runtime.ContainerStatus
	for i := range seen.Containers {
		r := &seen.Containers[i]
		if r.Name == c.Name && r.SandboxID == started.SandboxID && (newest == nil || r.Attempt > newest.Attempt) {
			newest = r
		}
	}
	switch sidecar := podspec.IsSidecar(c); {
	case newest == nil || newest.Attempt < newestAttempt:
		return nil
	case !sidecar && (newest.State != runtime.StateExited || newest.ExitCode != 0):
		return fmt.Errorf("init container %s is %s with code %d", c.Name, newest.State, newest.ExitCode)
	case sidecar && newest.Attempt == 0 && newest.StartedAt.IsZero():
		return fmt.Errorf("sidecar %s was never started", c.Name)
	}
	return nil
}

// effectiveRestartPolicy returns the restart policy of a container, or the policy of its pod if the container
// has none. For a container with restart rules it returns Always, because any exit may lead to a restart.
func effectiveRestartPolicy(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	switch {
	case len(c.RestartPolicyRules) > 0:
		return v1.RestartPolicyAlways
	case c.RestartPolicy != nil:
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// hasRestartRules reports whether any init or regular container of the pod has restart rules. Such a rule may
// restart all containers of the pod.
func hasRestartRules(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		if len(c.RestartPolicyRules) > 0 {
			return true
		}
	}
	return false
}

// findContainerStatus returns the runtime's status of the container with this ID, or nil.
func findContainerStatus(seen *runtime.PodStatus, id string) *runtime.ContainerStatus {
	for i := range seen.Containers {
		if seen.Containers[i].ID == id {
			return &seen.Containers[i]
		}
	}
	return nil
}

// previousExitedContainer returns the newest exited container with the same name and a lower attempt than rec,
// or nil. Containers of an earlier pod with the same UID, and containers that were never started, do not count.
func previousExitedContainer(seen *runtime.PodStatus, rec *runtime.ContainerStatus) *runtime.ContainerStatus {
	return previousExitedContainerInSandbox("", seen, rec)
}

// previousExitedContainerInSandbox returns the newest exited container in a sandbox with the same name and a
// lower attempt than rec, or nil. Containers of an earlier pod with the same UID, and containers that were
// never started, do not count. If sandbox is empty, the container may be in any sandbox.
func previousExitedContainerInSandbox(sandbox string, seen *runtime.PodStatus, rec *runtime.ContainerStatus) *runtime.ContainerStatus {
	var last *runtime.ContainerStatus
	for i := range seen.Containers {
		r := &seen.Containers[i]
		older := r.Name == rec.Name && r.Incarnation == rec.Incarnation && r.Attempt < rec.Attempt
		older = older && (sandbox == "" || r.SandboxID == sandbox)
		if older && r.State == runtime.StateExited && !r.StartedAt.IsZero() && (last == nil || r.Attempt > last.Attempt) {
			last = r
		}
	}
	return last
}
