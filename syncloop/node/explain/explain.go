package explain

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Explain says how a pod is, why, and what comes next.
func Explain(f Facts) Explanation {
	f.complete()
	e := Explanation{
		Pod: f.Pod.Namespace + "/" + f.Pod.Name, UID: f.Pod.UID, At: f.Now,
		Phase: f.phase(), Reason: line(f.Status.Reason), Message: line(f.Status.Message),
		Worker: "none", Incarnation: f.Worker.Incarnation, Next: f.find.next,
		Containers: f.containers(), Conditions: f.conditions(), History: f.History,
	}
	e.Probes = f.probes(e.Containers)
	if f.Worker.PreviousIncarnation || f.Deferred != "" {
		e.Phase, e.Reason, e.Message = v1.PodPending, "", ""
	}
	if !f.OrphanUntil.IsZero() {
		e.Phase = v1.PodRunning
	}
	if f.Worker.Known {
		e.Worker, e.Doing = f.Worker.Phase, f.Worker.Step
	}
	e.Sentence, e.Waits = f.answer(e.Containers)
	e.Sentence = e.Pod + " is " + e.Sentence
	if f.Fault != nil {
		e.Sentence += "; but there is trouble with a manifest of it"
		e.Fault = &Fault{line(f.Fault.Path), line(f.Fault.Reason), line(f.Fault.Effect), f.Fault.Since}
	}
	return e
}

func (f *Facts) phase() v1.PodPhase {
	if f.Status.Phase == "" {
		return v1.PodPending
	}
	return f.Status.Phase
}

// answer is the sentence without its subject, and everything that is waited for.
func (f *Facts) answer(all []Container) (sentence string, waits []string) {
	phase := string(f.phase())
	switch {
	case f.rejected():
		return phase + ": " + f.rejection(), nil
	case !f.OrphanUntil.IsZero():
		waits = []string{f.late()}
		return "Running: " + waits[0], waits
	case f.Deferred != "":
		waits = append([]string{f.deferred()}, f.outside()...)
		return "Pending: " + waits[0], waits
	case f.Worker.PreviousIncarnation:
		waits = append(f.previousIncarnation(), f.ending(all)...)
		return "Pending: " + waits[0], waits
	case f.StatusRefused != "":
		waits = append([]string{f.refused()}, f.outside()...)
		return phase + ": " + waits[0], waits
	case f.Worker.Known && f.Worker.Phase == Terminating:
		waits = append(f.ending(all), f.outside()...)
		return "terminating: " + f.endingBecause() + "; " + waits[0], waits
	case f.over():
		waits = f.cleanup()
		return strings.Join(append([]string{phase + ": " + f.overBecause(all)}, waits...), "; "), waits
	}
	outside, inside := f.outside(), f.inside(all)
	waits = append(outside, inside...)
	if len(inside) > 0 {
		return phase + ": " + waits[0], waits
	}
	sentence = phase + ": " + well(all)
	if len(outside) > 0 {
		sentence += "; but " + outside[0]
	}
	return sentence, waits
}

// conditions are those that are not True, in the status' order.
func (f *Facts) conditions() (bad []Condition) {
	for i := range f.Status.Conditions {
		if c := &f.Status.Conditions[i]; c.Status != v1.ConditionTrue || adverse(c.Type) {
			bad = append(bad, Condition{line(string(c.Type)), line(string(c.Status)), line(c.Reason), line(c.Message)})
		}
	}
	return bad
}

// adverse conditions are bad news when they are True.
func adverse(t v1.PodConditionType) bool {
	switch t {
	case v1.DisruptionTarget, v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting:
		return true
	}
	return false
}

// probes are those of containers that run, in their order and by kind: what was
// found out about others is over.
func (f *Facts) probes(all []Container) (probes []Probe) {
	for i := range all {
		if all[i].State != "running" {
			continue
		}
		first := len(probes)
		for _, p := range f.find.probes[all[i].Name] {
			p.Message = line(p.Message)
			probes = append(probes, p)
		}
		slices.SortStableFunc(probes[first:], func(a, b Probe) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	return probes
}
