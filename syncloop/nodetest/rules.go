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

// resetAfterCrash drops the state that the next node cannot know, such as the called hooks.
func (r *rules) resetAfterCrash(now time.Time) {
	r.crashedAt = now
	clear(r.calledPreStops)
	clear(r.firstStops)
	clear(r.rejected)
	if r.timing != nil {
		r.timing.resetAfterCrash()
	}
}

// recordDesired records that a pod becomes desired.
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

// recordDeleted records that a pod is no longer desired.
func (tr *trace) recordDeleted(uid types.UID) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if s := tr.mu.rules.timing; s != nil && s.deletedAt[uid].IsZero() {
		s.deletedAt[uid] = tr.now()
	}
}

// hasEqualContainers reports whether all desired specs of a UID have containers of the same names and
// kinds.
func (r *rules) hasEqualContainers(uid types.UID) bool {
	specs := r.specs[uid]
	for _, pod := range specs {
		if !slices.Equal(containerKinds(pod), containerKinds(specs[0])) {
			return false
		}
	}
	return true
}

// containerKinds returns the names of a pod's containers, with their kinds.
func containerKinds(pod *v1.Pod) []string {
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

// withStartedSidecars returns a state in which sidecars from before a crash are started. The node
// started before the crash that later containers run, so the sidecar had started, but the new node has
// not run its startup probe again.
func (r *rules) withStartedSidecars(state node.PodState) node.PodState {
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

// checkCall checks a call against the spec of the pod. It skips a UID with several desired specs,
// because it does not know which spec applies.
func (tr *trace) checkCall(about object, c memory.Call) {
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
			err = errors.Join(r.checkStart(tr.now(), pod, about, q.ContainerID, seen), r.checkStartTime(pod, about, c, q.ContainerID, seen))
		}
	case runtime.RunHandlerRequest:
		err = r.checkPreStopHook(q, c.Began)
		if r.timing != nil && q.Purpose != runtime.PostStartHook && q.Purpose != runtime.PreStopHook {
			err = r.timing.checkProbe(about, c, q.Purpose, findRecord(seen, q.ContainerID))
		}
	case runtime.StopContainerRequest:
		if _, before := r.firstStops[q.ContainerID]; !before {
			r.firstStops[q.ContainerID] = c.Began
		}
		if r.timing != nil {
			err = r.timing.checkStop(pod, about, c, q.Grace, q.ContainerID, seen)
		}
	}
	if err != nil {
		tr.faults.add("at %s: pod %s: %v", tr.now().Sub(Epoch), about, err)
	}
}

// recordKilling records, from a Killing event, that a container is about to be stopped. A later exit of
// the container is then not its own, even if the call fails or a wrapper of the runtime drops it.
func (tr *trace) recordKilling(uid types.UID, reason, message string) {
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

// checkStartTime checks the time of a start, if the rules about times are checked.
func (r *rules) checkStartTime(pod *v1.Pod, about object, c memory.Call, id string, seen *runtime.PodStatus) error {
	rec := findRecord(seen, id)
	if r.timing == nil || rec == nil {
		return nil
	}
	return r.timing.checkStart(pod, about, c.Began, rec, seen, r.crashedAt)
}

// checkPreStopHook checks that a preStop hook is called once and before the first stop. The hook may return
// after the stop (I32).
func (r *rules) checkPreStopHook(req runtime.RunHandlerRequest, began time.Time) error {
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

// checkStart checks that the containers before a started container allow its start (I29), and that its
// restart policy does (I30).
func (r *rules) checkStart(now time.Time, pod *v1.Pod, about object, id string, seen *runtime.PodStatus) error {
	init, c := findContainer(pod, about.name)
	rec := findRecord(seen, id)
	if c == nil || rec == nil {
		return nil
	}
	key := containerKey{about.pod.UID, about.pod.Incarnation, about.name, ""}
	if init < len(pod.Spec.InitContainers) || pod.Spec.RestartPolicy != v1.RestartPolicyNever {
		key.sandbox = rec.SandboxID // In a new sandbox the pod's policy decides.
	}
	last, again := r.lastStarts[key]
	r.lastStarts[key] = now
	if last.Before(r.crashedAt) && previousExitedIn(key.sandbox, seen, rec) == nil {
		again = false // A node that was started later cannot know.
	}
	if init < len(pod.Spec.InitContainers) && !hasLaterRecord(pod, seen, rec, init) {
		again = false // No record shows how far the pod was, so it starts with its first init container again.
	}
	if again && restartPolicy(pod, c) == v1.RestartPolicyNever && !hasRestartRules(pod) {
		return fmt.Errorf("container %s runs a second time, and its policy is Never", about.name)
	}
	// Init containers run again in a new sandbox. A container that was stopped did not complete, whatever its
	// exit code. That holds after a crash of the agent too: the next agent finds the attempt that the crashed
	// one had created.
	regular := init == len(pod.Spec.InitContainers)
	if last := previousExited(seen, rec); regular && last != nil && last.ExitCode == 0 && !r.stopped[last.ID] && restartPolicy(pod, c) == v1.RestartPolicyOnFailure && !hasRestartRules(pod) {
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

// hasLaterRecord reports whether the sandbox of rec has another record of init container number init,
// or of a container after it. Only such records show how far the pod was.
func hasLaterRecord(pod *v1.Pod, seen *runtime.PodStatus, rec *runtime.ContainerStatus, init int) bool {
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

// findContainer returns a container of the spec, and the number of init containers before it.
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

// checkInitContainerDone returns an error unless an init container is done in the sandbox of then,
// according to the record of its newest attempt. A missing record is no error.
func checkInitContainerDone(c *v1.Container, seen *runtime.PodStatus, then *runtime.ContainerStatus, made uint32) error {
	var newest *runtime.ContainerStatus
	for i := range seen.Containers {
		r := &seen.Containers[i]
		if r.Name == c.Name && r.SandboxID == then.SandboxID && (newest == nil || r.Attempt > newest.Attempt) {
			newest = r
		}
	}
	switch sidecar := podspec.IsSidecar(c); {
	case newest == nil || newest.Attempt < made:
		return nil
	case !sidecar && (newest.State != runtime.StateExited || newest.ExitCode != 0):
		return fmt.Errorf("init container %s is %s with code %d", c.Name, newest.State, newest.ExitCode)
	case sidecar && newest.Attempt == 0 && newest.StartedAt.IsZero():
		return fmt.Errorf("sidecar %s was never started", c.Name)
	}
	return nil
}

// restartPolicy returns the restart policy of a container. With restart rules it returns Always,
// because any exit may restart.
func restartPolicy(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	switch {
	case len(c.RestartPolicyRules) > 0:
		return v1.RestartPolicyAlways
	case c.RestartPolicy != nil:
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// hasRestartRules reports whether a container of the pod has restart rules, which may restart the whole
// pod.
func hasRestartRules(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		if len(c.RestartPolicyRules) > 0 {
			return true
		}
	}
	return false
}

// findRecord returns the runtime record of a container ID, or nil.
func findRecord(seen *runtime.PodStatus, id string) *runtime.ContainerStatus {
	for i := range seen.Containers {
		if seen.Containers[i].ID == id {
			return &seen.Containers[i]
		}
	}
	return nil
}

// previousExited returns the newest exited record of an earlier attempt in the same incarnation, or
// nil.
func previousExited(seen *runtime.PodStatus, rec *runtime.ContainerStatus) *runtime.ContainerStatus {
	return previousExitedIn("", seen, rec)
}

// previousExitedIn is previousExited for the records of one sandbox, or of all if sandbox is empty.
func previousExitedIn(sandbox string, seen *runtime.PodStatus, rec *runtime.ContainerStatus) *runtime.ContainerStatus {
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
