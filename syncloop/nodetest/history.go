package nodetest

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node"
)

// Observation is the state of a pod at the end of an instant.
type Observation struct {
	At     time.Duration // since Epoch
	Text   string        // as Simulation.Status returns it: "1/1 Running restarts=0", or "gone"
	Status v1.PodStatus  // with the conditions and the statuses of containers
}

// History returns all statuses of the pod with this name or namespace/name, in order. It has one
// Observation for each instant in which the status has changed, even if its Text has not. It can be
// called after Stop. If no such pod was observed, it fails the test and names the observed pods.
func (b *Simulation) History(name string) []Observation {
	b.t.Helper()
	list, known := b.trace.statusHistory(withDefaultNamespace(name))
	if !known {
		b.t.Fatalf("nodetest: at %s: there is no pod %s: %s", b.Now().Sub(Epoch), withDefaultNamespace(name), b.trace.describePodNames())
	}
	return list
}

// statusHistory returns copies of the observed statuses of a pod, the oldest first. known is false if the
// transcript has nothing about the pod.
func (tr *trace) statusHistory(pod string) (list []Observation, known bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	l := tr.mu.pods[pod]
	if l == nil {
		return nil, false
	}
	for _, seen := range l.seen {
		seen.Status = *seen.Status.DeepCopy()
		list = append(list, seen)
	}
	return list, true
}

// addObservationLocked adds the status in state to the observations of a pod, unless it equals the last one. It
// replaces an earlier observation of the same instant.
func (l *podLog) addObservationLocked(at time.Duration, text string, state node.PodState) {
	seen := l.seen
	if len(seen) > 0 && seen[len(seen)-1].At == at {
		seen = seen[:len(seen)-1]
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "| "), "\n")
	next := Observation{at, text, state.Pod.Status}
	if len(seen) == 0 || seen[len(seen)-1].Text != text || !equality.Semantic.DeepEqual(seen[len(seen)-1].Status, next.Status) {
		seen = append(seen, next)
	}
	l.seen = seen
}

// describePodNames returns one sentence with the names of all pods in the transcript.
func (tr *trace) describePodNames() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	names := make([]string, 0, len(tr.mu.pods))
	for name := range tr.mu.pods {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "no pod was observed"
	}
	slices.Sort(names)
	return "the pods are " + strings.Join(names, ", ")
}

// RestartWithStatuses crashes the node, if one runs, and starts another one, as beside an API server
// that has stored the last status of every pod. Each desired pod then has that status, also after later
// crashes. After Start alone the pods have no statuses, as beside an API server that has lost them.
func (b *Simulation) RestartWithStatuses() {
	b.t.Helper()
	if b.process != nil {
		b.Crash()
	}
	for i, pod := range b.desired {
		if status := b.trace.lastStatus(pod.UID); status != nil {
			b.desired[i] = pod.DeepCopy()
			b.desired[i].Status = *status
		}
	}
	b.Start()
}

// lastStatus returns a copy of the last status of a pod, or nil if the pod has none.
func (tr *trace) lastStatus(uid types.UID) *v1.PodStatus {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.mu.statuses[uid].DeepCopy()
}
