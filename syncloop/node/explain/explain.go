package explain

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Explain returns the state of a pod, its cause, and what happens next.
func Explain(f Facts) Explanation {
	f.fillMissingAndIndex()
	e := Explanation{
		Pod: f.Pod.Namespace + "/" + f.Pod.Name, UID: f.Pod.UID, At: f.Now,
		Phase: f.phaseOrPending(), Reason: sanitizeLine(f.Status.Reason), Message: sanitizeLine(f.Status.Message),
		Worker: "none", Incarnation: f.Worker.Incarnation, Next: f.index.next,
		Containers: f.describeContainers(), Conditions: f.problemConditions(), History: f.History,
	}
	e.Probes = f.probesOfRunningContainers(e.Containers)
	if f.Worker.PreviousIncarnation || f.Deferred != "" {
		e.Phase, e.Reason, e.Message = v1.PodPending, "", ""
	}
	if !f.OrphanUntil.IsZero() {
		e.Phase = v1.PodRunning
	}
	if f.Worker.Known {
		e.Worker, e.Doing = f.Worker.Phase, f.Worker.Step
	}
	e.Sentence, e.Waits = f.describeState(e.Containers)
	e.Sentence = e.Pod + " is " + e.Sentence
	if f.Fault != nil {
		e.Sentence += "; but a manifest of it has a fault"
		e.Fault = &Fault{sanitizeLine(f.Fault.Path), sanitizeLine(f.Fault.Reason), sanitizeLine(f.Fault.Effect), f.Fault.Since}
	}
	return e
}

// phaseOrPending returns the phase of the status, or Pending if the status has none.
func (f *Facts) phaseOrPending() v1.PodPhase {
	if f.Status.Phase == "" {
		return v1.PodPending
	}
	return f.Status.Phase
}

// describeState returns the sentence about the state of the pod, without its subject, and everything that the
// pod waits for. The sentence contains the first of these waits, except for a rejected pod.
func (f *Facts) describeState(containers []Container) (sentence string, waits []string) {
	phase := string(f.phaseOrPending())
	switch {
	case f.isRejected():
		return phase + ": " + f.sentenceOfRejectedPod(), nil
	case !f.OrphanUntil.IsZero():
		waits = []string{f.describeOrphan()}
		return "Running: " + waits[0], waits
	case f.Deferred != "":
		waits = append([]string{f.describeDeferral()}, f.waitsOutsideContainers()...)
		return "Pending: " + waits[0], waits
	case f.Worker.PreviousIncarnation:
		waits = append(f.describePreviousIncarnation(), f.describeTermination(containers)...)
		return "Pending: " + waits[0], waits
	case f.StatusRefused != "":
		waits = append([]string{f.describeStatusRejectedByStore()}, f.waitsOutsideContainers()...)
		return phase + ": " + waits[0], waits
	case f.Worker.Known && f.Worker.Phase == Terminating:
		waits = append(f.describeTermination(containers), f.waitsOutsideContainers()...)
		return "terminating: " + f.terminationReason() + "; " + waits[0], waits
	case f.hasTerminated():
		waits = f.describeCleanup()
		return strings.Join(append([]string{phase + ": " + f.describeHowTerminated(containers)}, waits...), "; "), waits
	}
	outside, inside := f.waitsOutsideContainers(), f.waitsOfSandboxAndContainers(containers)
	waits = append(outside, inside...)
	if len(inside) > 0 {
		return phase + ": " + waits[0], waits
	}
	sentence = phase + ": " + describeAllReady(containers)
	if len(outside) > 0 {
		sentence += "; but " + outside[0]
	}
	return sentence, waits
}

// problemConditions returns the conditions that are not True, and the conditions that show a problem when they
// are True. They are in the order of the status.
func (f *Facts) problemConditions() (bad []Condition) {
	for i := range f.Status.Conditions {
		if c := &f.Status.Conditions[i]; c.Status != v1.ConditionTrue || isAdverseCondition(c.Type) {
			bad = append(bad, Condition{sanitizeLine(string(c.Type)), sanitizeLine(string(c.Status)), sanitizeLine(c.Reason), sanitizeLine(c.Message)})
		}
	}
	return bad
}

// isAdverseCondition reports whether a condition of this type shows a problem when it is True.
func isAdverseCondition(t v1.PodConditionType) bool {
	switch t {
	case v1.DisruptionTarget, v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting:
		return true
	}
	return false
}

// probesOfRunningContainers returns the last probe results of the running containers, in the order of the
// containers and by kind. It skips stopped containers, because their results are out of date.
func (f *Facts) probesOfRunningContainers(containers []Container) (probes []Probe) {
	for i := range containers {
		if containers[i].State != "running" {
			continue
		}
		first := len(probes)
		for _, p := range f.index.probes[containers[i].Name] {
			p.Message = sanitizeLine(p.Message)
			probes = append(probes, p)
		}
		slices.SortStableFunc(probes[first:], func(a, b Probe) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	return probes
}
