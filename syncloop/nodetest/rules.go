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

// rules are what is kept of a harness to judge the calls of its node by.
type rules struct {
	specs          map[types.UID][]*v1.Pod    // every spec in which a UID was desired
	lastStarts     map[containerKey]time.Time // when last
	calledPreStops map[string]bool            // by container ID: its PreStop hook has been called
	firstStops     map[string]time.Time       // by container ID: when the node that runs now has sent the first stop
	stopped        map[string]bool            // by container ID: some node has sent a stop, or is about to
	newestAttempts map[containerKey]uint32    // the newest attempt that was made
	crashedAt      time.Time                  // when the last node crashed

	timing   *timingRules       // nil: not kept
	rejected map[types.UID]bool // it was, by the node that runs now
}

func newRules() rules {
	return rules{
		specs: map[types.UID][]*v1.Pod{}, lastStarts: map[containerKey]time.Time{}, calledPreStops: map[string]bool{}, firstStops: map[string]time.Time{},
		stopped: map[string]bool{}, rejected: map[types.UID]bool{}, newestAttempts: map[containerKey]uint32{},
	}
}

// containerKey is a container in one incarnation of its pod.
type containerKey struct {
	uid         types.UID
	incarnation uint64
	name        string
	sandbox     string // of an ordinary init container, which runs again in another
}

// resetAfterCrash: the node that comes does not know which hooks have been called.
func (r *rules) resetAfterCrash(now time.Time) {
	r.crashedAt = now
	clear(r.calledPreStops)
	clear(r.firstStops)
	clear(r.rejected)
	if r.timing != nil {
		r.timing.resetAfterCrash()
	}
}

// recordDesired notes a pod that becomes desired.
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

// recordDeleted notes a pod that is no longer desired.
func (tr *trace) recordDeleted(uid types.UID) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if s := tr.mu.rules.timing; s != nil && s.deletedAt[uid].IsZero() {
		s.deletedAt[uid] = tr.now()
	}
}

// hasEqualContainers reports whether all shapes in which a UID was desired have the same kinds
// of containers.
func (r *rules) hasEqualContainers(uid types.UID) bool {
	specs := r.specs[uid]
	for _, pod := range specs {
		if !slices.Equal(containerKinds(pod), containerKinds(specs[0])) {
			return false
		}
	}
	return true
}

// containerKinds are the names of a pod's containers, by kind.
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

// withStartedSidecars adds to a state what a node that was started after a crash cannot know,
// if no checkpoint holds it: a sidecar from before the crash may have started, since
// later containers run, though its startup probe has not run again.
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

// checkCall checks a call against what the pod's spec asks for. A UID that was
// desired with more than one spec is left out: it is not known which one counts.
func (tr *trace) checkCall(about object, c memory.Call) {
	seen := tr.podStatus(about.pod.UID)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if q, ok := c.Request.(runtime.StopContainerRequest); ok {
		tr.mu.rules.stopped[q.ContainerID] = true // Also of one whose pod is not known, as its creation had no reply.
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
			err = errors.New("a pod that was refused gets a sandbox")
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
		err = r.checkHook(q, c.Began)
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

// recordKilling notes that a container is about to be stopped: what ends from then on does
// not end by itself, though the call may fail, or be swallowed by what stands between
// the node and its machine.
func (tr *trace) recordKilling(uid types.UID, reason, message string) {
	name, ok := strings.CutPrefix(message, "Stopping container ")
	if name, _, _ = strings.Cut(name, ":"); !ok || reason != "Killing" || tr.podStatus == nil {
		return
	}
	seen := tr.podStatus(uid) // Without the lock: a runtime of the test may wait.
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

// checkStart checks the time of a start, if that is known.
func (r *rules) checkStartTime(pod *v1.Pod, about object, c memory.Call, id string, seen *runtime.PodStatus) error {
	rec := findRecord(seen, id)
	if r.timing == nil || rec == nil {
		return nil
	}
	return r.timing.checkStart(pod, about, c.Began, rec, seen, r.crashedAt)
}

// checkHook checks a hook before the stop: it is called once, and before the first stop (I32). It
// may return after that.
func (r *rules) checkHook(req runtime.RunHandlerRequest, began time.Time) error {
	if req.Purpose != runtime.PreStopHook {
		return nil
	}
	stop, stopped := r.firstStops[req.ContainerID]
	switch {
	case r.calledPreStops[req.ContainerID]:
		return fmt.Errorf("the PreStop hook of %s is called twice", req.ContainerID)
	case stopped && began.After(stop):
		return fmt.Errorf("the PreStop hook of %s is called after the stop", req.ContainerID)
	}
	r.calledPreStops[req.ContainerID] = true
	return nil
}

// startupSucceeded checks the start of a container: its predecessors allow it (I29), and its
// policy allows it to run (again, I30).
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
		again = false // The node that was started since cannot know.
	}
	if init < len(pod.Spec.InitContainers) && !hasLaterRecord(pod, seen, rec, init) {
		again = false // No record shows any more how far the pod was: it starts again from the beginning.
	}
	if again && restartPolicy(pod, c) == v1.RestartPolicyNever && !hasRestartRules(pod) {
		return fmt.Errorf("container %s runs a second time, and its policy is Never", about.name)
	}
	// Init containers run again in a new sandbox. A container that was sent a stop
	// did not end by itself, whatever its code. That holds after a crash of the agent too:
	// the next one finds the attempt made that its predecessor was about to start.
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

// hasLaterRecord reports whether there is a record but this one, in its sandbox, of an init
// container, or of one after them: of how far the pod is nothing else tells.
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

// findContainer is a container of the spec, and how many init containers come before it.
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

// checkInitContainerDone: an init container is behind the pod, as far as the record of its newest
// attempt in the sandbox tells; records may be gone.
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

// restartPolicy is the restart policy of a container. Rules make it unknown, which is
// as good as Always.
func restartPolicy(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	switch {
	case len(c.RestartPolicyRules) > 0:
		return v1.RestartPolicyAlways
	case c.RestartPolicy != nil:
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// hasRestartRules: some rule may restart the whole pod.
func hasRestartRules(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		if len(c.RestartPolicyRules) > 0 {
			return true
		}
	}
	return false
}

func findRecord(seen *runtime.PodStatus, id string) *runtime.ContainerStatus {
	for i := range seen.Containers {
		if seen.Containers[i].ID == id {
			return &seen.Containers[i]
		}
	}
	return nil
}

// previousExited is the exited record of the attempt before one, in the same incarnation.
func previousExited(seen *runtime.PodStatus, rec *runtime.ContainerStatus) *runtime.ContainerStatus {
	return previousExitedIn("", seen, rec)
}

// previousExitedIn is that of a sandbox; empty: of any.
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
