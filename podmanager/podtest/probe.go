package podtest

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// ProbeKind is the kind of a probe.
type ProbeKind runtime.Purpose

// The kinds of probes.
const (
	// Readiness is the probe that decides whether the container is ready.
	Readiness = ProbeKind(runtime.ReadinessProbe)
	// Liveness is the probe whose failure restarts the container.
	Liveness = ProbeKind(runtime.LivenessProbe)
	// Startup is the probe that delays the other probes until it succeeds.
	Startup = ProbeKind(runtime.StartupProbe)
)

// HookKind is the kind of a lifecycle hook.
type HookKind runtime.Purpose

// The kinds of hooks.
const (
	// PostStart is the hook that runs after the start of the container.
	PostStart = HookKind(runtime.PostStartHook)
	// PreStop is the hook that runs before the container is stopped.
	PreStop = HookKind(runtime.PreStopHook)
)

// ProbeOption is an option of Probe: an AnswerOption, Every, After, TimesOut or Threshold.
type ProbeOption interface{ isProbeOption() }

// AnswerOption describes the results of a probe or hook during one period. The zero value is success, for ever.
type AnswerOption struct{ answer memory.Answer }

// probeState is a probe while its options are applied.
type probeState struct {
	v1.Probe
	builder *PodBuilder
	answers memory.Answers
}

// probeOption is a ProbeOption that does not describe results.
type probeOption struct{ edit func(*probeState) }

func (probeOption) isProbeOption()  {}
func (AnswerOption) isProbeOption() {}

// Probe adds a probe to the last container. The probe is due each second and fails at the first failure, unless Every
// and Threshold say otherwise. A probe of the same kind is replaced. Before the first container it is a fault.
func (b *PodBuilder) Probe(kind ProbeKind, options ...ProbeOption) *PodBuilder {
	c := b.last.get()
	if c == nil {
		b.addFault("Probe: the pod has no container yet: call Container first")
		return b
	}
	state := &probeState{builder: b, Probe: v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{string(kind)}}}, PeriodSeconds: 1, FailureThreshold: 1}}
	for _, o := range options {
		switch o := o.(type) {
		case AnswerOption:
			state.answers.Sequence = append(state.answers.Sequence, o.answer)
		case probeOption:
			o.edit(state)
		}
	}
	switch kind {
	case Readiness:
		c.ReadinessProbe = &state.Probe
	case Liveness:
		c.LivenessProbe = &state.Probe
	case Startup:
		c.StartupProbe = &state.Probe
	default:
		b.addFault("Probe: there is no probe %q: expected Readiness, Liveness or Startup", kind)
		return b
	}
	b.setAnswers(c.Name, string(kind), state.answers)
	return b
}

// Hook adds a lifecycle hook to the last container. A hook of the same kind is replaced. Before the first container it
// is a fault.
func (b *PodBuilder) Hook(kind HookKind, options ...AnswerOption) *PodBuilder {
	c := b.last.get()
	if c == nil {
		b.addFault("Hook: the pod has no container yet: call Container first")
		return b
	}
	handler := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{string(kind)}}}
	if c.Lifecycle == nil {
		c.Lifecycle = &v1.Lifecycle{}
	}
	switch kind {
	case PostStart:
		c.Lifecycle.PostStart = handler
	case PreStop:
		c.Lifecycle.PreStop = handler
	default:
		b.addFault("Hook: there is no hook %q: expected PostStart or PreStop", kind)
		return b
	}
	var answers memory.Answers
	for _, o := range options {
		answers.Sequence = append(answers.Sequence, o.answer)
	}
	b.setAnswers(c.Name, string(kind), answers)
	return b
}

// setAnswers stores the results of a probe or hook in the annotation of the in-memory runtime. Without results it
// removes the annotation.
func (b *PodBuilder) setAnswers(container, purpose string, answers memory.Answers) {
	key := memory.AnnotationPrefix + container + "." + purpose
	if len(answers.Sequence) == 0 {
		delete(b.pod.Annotations, key)
		return
	}
	b.pod.Annotations = setInMap(b.pod.Annotations, key, answers.String())
}

// Every sets the period of the probe.
func Every(d time.Duration) ProbeOption {
	return probeOption{func(p *probeState) { p.PeriodSeconds = p.builder.wholeSeconds("Every", d) }}
}

// After sets the initial delay of the probe.
func After(d time.Duration) ProbeOption {
	return probeOption{func(p *probeState) { p.InitialDelaySeconds = p.builder.wholeSeconds("After", d) }}
}

// TimesOut sets the timeout of the probe.
func TimesOut(d time.Duration) ProbeOption {
	return probeOption{func(p *probeState) { p.TimeoutSeconds = p.builder.wholeSeconds("TimesOut", d) }}
}

// Threshold sets the number of failures after which the probe has failed.
func Threshold(failures int32) ProbeOption {
	return probeOption{func(p *probeState) { p.FailureThreshold = failures }}
}

// SucceedsFor makes the calls of a period succeed.
func SucceedsFor(d time.Duration) AnswerOption { return AnswerOption{memory.Answer{For: d}} }

// Fails makes all further calls fail.
func Fails() AnswerOption { return FailsFor(0) }

// FailsFor makes the calls of a period fail.
func FailsFor(d time.Duration) AnswerOption {
	return AnswerOption{memory.Answer{Kind: memory.AnswerFail, For: d}}
}

// Hangs makes all further calls return nothing until they are canceled.
func Hangs() AnswerOption { return HangsFor(0) }

// HangsFor makes the calls of a period return nothing until they are canceled.
func HangsFor(d time.Duration) AnswerOption {
	return AnswerOption{memory.Answer{Kind: memory.AnswerHang, For: d}}
}

// Takes makes all further calls succeed after d.
func Takes(d time.Duration) AnswerOption { return AnswerOption{memory.Answer{Takes: d}} }
