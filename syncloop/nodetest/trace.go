package nodetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

// trace records the events of each pod: calls that change the runtime, event objects, and statuses that
// watchers see.
type trace struct {
	faults    faults
	now       func() time.Time
	podStatus func(types.UID) *runtime.PodStatus // reads from the machine, bypassing the node
	details   bool                               // adds arguments and messages to the lines
	records   *recorder.Recorder                 // nil: no timelines are recorded

	mu struct {
		sync.Mutex
		objects    map[string]object // by runtime ID
		pods       map[string]*podLog
		notes      []line
		lastStates map[types.UID]node.PodState
		rules      rules
		// known are the pods of the node, and statuses their published statuses, by UID.
		known    map[types.UID]*v1.Pod
		statuses map[types.UID]*v1.PodStatus
		shared   sharedObjects
	}
}

// podLog has the lines of one pod.
type podLog struct {
	lines []line // calls and events, in order
	rows  []line // statuses at the end of each instant
	seen  []Observation
}

// line is a line of the transcript.
type line struct {
	at        time.Duration
	text      string
	container string          // of a call
	branch    executor.Branch // of a call

	// Set where the lines are arranged.
	fork any    // fork of the branch, or of the call that an event announces; nil: no other line is parallel
	rank int    // position among the lines of the fork in this instant
	mark string // bracket of a group
}

func (l line) String() string { return fmt.Sprintf("%10s  %s%s\n", l.at, l.mark, l.text) }

func newTrace(now func() time.Time) *trace {
	tr := &trace{now: now}
	tr.mu.objects = make(map[string]object)
	tr.mu.pods = make(map[string]*podLog)
	tr.mu.lastStates = make(map[types.UID]node.PodState)
	tr.mu.known = make(map[types.UID]*v1.Pod)
	tr.mu.statuses = make(map[types.UID]*v1.PodStatus)
	tr.mu.rules = newRules()
	return tr
}

// String returns the transcript, with a section per pod in order of name.
func (tr *trace) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var b strings.Builder
	for _, n := range tr.mu.notes {
		b.WriteString(n.String())
	}
	names := make([]string, 0, len(tr.mu.pods))
	for name := range tr.mu.pods {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&b, "pod %s\n", name)
		for _, l := range tr.mu.pods[name].mergeLines() {
			b.WriteString(l.String())
		}
	}
	return b.String()
}

// mergeLines returns the lines of calls, events and statuses in the order of their times. The status of an
// instant follows the other lines of the instant.
func (l *podLog) mergeLines() []line {
	all := slices.Concat(orderParallelLines(l.lines), l.rows)
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	return all
}

// recordCrashAndResetChecks adds a crash of the agent to the transcript and to the timelines. It also checks
// the shared objects for modifications, and resets the state of the checks for the next node.
func (tr *trace) recordCrashAndResetChecks() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.mu.notes = append(tr.mu.notes, line{at: tr.now().Sub(Epoch), text: "the agent crashes"})
	tr.checkSharedAndResetForNextNodeLocked()
	tr.addNoteToTimelines("the agent crashes")
}

// recordStopAndResetChecks adds the stop of the agent to the timelines. It also checks the shared objects for
// modifications, and resets the state of the checks for the next node.
func (tr *trace) recordStopAndResetChecks() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.checkSharedAndResetForNextNodeLocked()
	tr.addNoteToTimelines("the agent has stopped")
}

// checkSharedAndResetForNextNodeLocked adds a fault for each shared object that was modified. It then deletes
// the state of the checks that the next node does not have, and stores the present time as the time of the
// crash.
func (tr *trace) checkSharedAndResetForNextNodeLocked() {
	tr.checkAndClearSharedLocked()
	clear(tr.mu.lastStates)
	tr.mu.rules.storeCrashTimeAndResetForNextNode(tr.now())
}

// addLine adds a line with the present time to the transcript of a pod.
func (tr *trace) addLine(pod string, l line) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	l.at = tr.now().Sub(Epoch)
	of := tr.podLogLocked(pod)
	of.lines = append(of.lines, l)
}

// lastStatusText returns the last status of a pod as "1/1 Running restarts=0". It returns "" if the pod was
// never observed.
func (tr *trace) lastStatusText(pod string) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	l := tr.mu.pods[pod]
	if l == nil || len(l.rows) == 0 {
		return ""
	}
	text, _, _ := strings.Cut(l.rows[len(l.rows)-1].text, "\n")
	return strings.TrimPrefix(text, "| ")
}

// podLogLocked returns the transcript of a pod, and creates it if it is missing.
func (tr *trace) podLogLocked(pod string) *podLog {
	l := tr.mu.pods[pod]
	if l == nil {
		l = &podLog{}
		tr.mu.pods[pod] = l
	}
	return l
}

// followNode records and checks each state of each pod that Watch yields, until ctx ends.
func (tr *trace) followNode(ctx context.Context, n *node.Node) {
	for state := range n.Watch(ctx) {
		s := state.Summary()
		text := fmt.Sprintf("| %s %s restarts=%d", s.Ready, s.Status, s.Restarts) + tr.describeMessagesIfDetailed(&state.Pod.Status)
		if state.Gone {
			text = "| gone"
		}
		tr.recordAndCheckState(state, text)
	}
}

// recordAndCheckState records the state of a pod in the transcript and in its history, and checks it. It
// replaces an earlier status line of the same instant, because the number of states that a watcher receives
// depends on chance.
func (tr *trace) recordAndCheckState(state node.PodState, text string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	at := tr.now().Sub(Epoch)
	l := tr.podLogLocked(state.Pod.Namespace + "/" + state.Pod.Name)
	rows := l.rows
	if len(rows) > 0 && rows[len(rows)-1].at == at {
		rows = rows[:len(rows)-1]
	}
	if len(rows) == 0 || rows[len(rows)-1].text != text {
		rows = append(rows, line{at: at, text: text})
	}
	l.rows = rows
	l.addObservationLocked(at, text, state)
	tr.storePodAndStatusLocked(state)
	tr.checkAndStoreStateLocked(state)
}

// storePodAndStatusLocked stores a pod of the node and its newest status; for a pod that is gone it deletes the
// status. For a new pod it also adds a fault if its script annotations name an unknown container.
func (tr *trace) storePodAndStatusLocked(state node.PodState) {
	uid := state.Pod.UID
	if tr.mu.known[uid] == nil {
		if err := checkScriptAnnotations(state.Pod); err != nil {
			tr.faults.formatAndStoreFault("at %s: %v", tr.now().Sub(Epoch), err)
		}
	}
	tr.mu.known[uid] = state.Pod
	switch {
	case state.Gone:
		delete(tr.mu.statuses, uid)
	case state.Version > 0:
		tr.mu.statuses[uid] = &state.Pod.Status
	}
}

// Event implements runtime.EventRecorder.
func (tr *trace) Event(object k8sruntime.Object, _, reason, message string) {
	if err := checkPlainSentence("event "+reason, message); err != nil {
		tr.faults.formatAndStoreFault("at %s: %v", tr.now().Sub(Epoch), err)
	}
	if ref, ok := object.(*v1.ObjectReference); ok {
		if ref.Kind == "Pod" {
			tr.recordStopFromKillingEvent(ref.UID, reason, message)
			tr.addLine(ref.Namespace+"/"+ref.Name, line{text: "event " + reason + ": " + replaceLineBreaks(message)})
		}
		return // Other events are about the node.
	}
	m, err := meta.Accessor(object)
	if err != nil {
		tr.faults.formatAndStoreFault("an event about an unknown object: %s %s", reason, message)
		return
	}
	tr.recordStopFromKillingEvent(m.GetUID(), reason, message)
	tr.addLine(m.GetNamespace()+"/"+m.GetName(), line{text: "event " + reason + ": " + replaceLineBreaks(message)})
}

// Eventf implements runtime.EventRecorder.
func (tr *trace) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	tr.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

// object is the object of a call: a container, a sandbox, or a pod.
type object struct {
	pod  runtime.PodRef
	name string // name of the container; empty for a sandbox or a pod
}

func (o object) String() string { return o.pod.Namespace + "/" + o.pod.Name }

// recordAndCheckCall checks a call that changes the runtime, adds a line about it to the transcript, and checks
// the pod in the runtime. It only checks the call of a probe, and ignores other calls that change nothing.
func (tr *trace) recordAndCheckCall(ctx context.Context, c memory.Call) {
	if r, ok := c.Request.(runtime.RunHandlerRequest); ok && r.Purpose != runtime.PostStartHook && r.Purpose != runtime.PreStopHook {
		tr.mu.Lock()
		about := tr.mu.objects[r.ContainerID]
		tr.mu.Unlock()
		tr.checkAndRecordCall(about, c)
		return // Probes are frequent and change nothing.
	}
	about, text := tr.describeCallAndStoreObject(c)
	if text == "" {
		return
	}
	tr.checkAndRecordCall(about, c)
	if c.Err != nil {
		text += ": " + replaceLineBreaks(c.Err.Error())
	}
	tr.addLine(about.String(), line{text: text, container: about.name, branch: executor.BranchOf(ctx)})
	tr.checkPodOnRuntime(about.pod.UID)
}

// describeCallAndStoreObject returns the pod and container that a call is about, and its line for the
// transcript. For a call that creates a sandbox or a container it stores them under the new ID. The text is
// empty for calls that change nothing.
func (tr *trace) describeCallAndStoreObject(c memory.Call) (about object, text string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	switch r := c.Request.(type) {
	case runtime.RunSandboxRequest:
		about = tr.storeObjectOfIDLocked(c.Result, object{pod: r.Pod})
		text = fmt.Sprintf("RunSandbox attempt=%d", r.Attempt)
	case runtime.CreateContainerRequest:
		about = tr.storeObjectOfIDLocked(c.Result, object{r.Pod, r.Name})
		text = fmt.Sprintf("CreateContainer %s attempt=%d", r.Name, r.Attempt) + tr.describeContainerIfDetailed(&r)
	case runtime.PullImageRequest:
		about, text = object{pod: r.Pod}, "PullImage "+r.Image
	case runtime.StartContainerRequest:
		about = tr.mu.objects[r.ContainerID]
		text = "StartContainer " + about.name
	case runtime.StopContainerRequest:
		about = tr.mu.objects[r.ContainerID]
		text = fmt.Sprintf("StopContainer %s grace=%s", about.name, r.Grace)
	case runtime.RemoveContainerRequest:
		about = tr.mu.objects[r.ContainerID]
		text = "RemoveContainer " + about.name
	case runtime.RunHandlerRequest:
		about = tr.mu.objects[r.ContainerID]
		text = fmt.Sprintf("Hook %s %s", r.Purpose, about.name)
	case runtime.StopSandboxRequest:
		about, text = tr.mu.objects[r.SandboxID], "StopSandbox"
	case runtime.RemoveSandboxRequest:
		about, text = tr.mu.objects[r.SandboxID], "RemoveSandbox"
	}
	return about, text
}

// storeObjectOfIDLocked stores a pod or container under the ID that the runtime has returned, and returns it.
// It stores nothing if the call has returned no ID.
func (tr *trace) storeObjectOfIDLocked(result any, o object) object {
	if id, ok := result.(string); ok && id != "" {
		tr.mu.objects[id] = o
	}
	return o
}

// replaceLineBreaks replaces each line break by "; ".
func replaceLineBreaks(text string) string { return strings.ReplaceAll(text, "\n", "; ") }
