package timeline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
)

// Kind is what a Record is about.
type Kind string

// The kinds of records.
const (
	// KindStatus is a new status of the pod.
	KindStatus Kind = "status"
	// KindPhase is a phase that the pod's worker has entered; Name is the phase.
	KindPhase Kind = "phase"
	// KindSync is a failed call of the PodSyncer; Name is the call.
	KindSync Kind = "sync"
	// KindAction is a finished or failed action; Name is a podsync.Action.
	KindAction Kind = "action"
	// KindBackoff is a container that does not start before Until.
	KindBackoff Kind = "backoff"
	// KindProbe is the result of one check; Name is startup, readiness or liveness.
	KindProbe Kind = "probe"
	// KindEvent is an event; Name is its reason.
	KindEvent Kind = "event"
	// KindNote is about the agent and not about the pod, for example a crash or a start.
	KindNote Kind = "note"
	// KindGone means that the node has removed the pod. It is the last record unless the UID is used again.
	KindGone Kind = "gone"
)

// Record is one thing that happened to a pod. Unused fields are zero.
type Record struct {
	// At is when it happened, or when it was over.
	At time.Time
	// Took is its duration.
	Took time.Duration
	Kind Kind
	// Container is the name of the container; empty: the record is about the pod.
	Container string
	Name      string
	// Text is for people: a reason, a message, the output of a check.
	Text string
	// Err is the error. For a probe it is the result of a failed check.
	Err     string
	Warning bool
	// Until is the end of a back-off.
	Until time.Time
	// Since and Count describe merged records of a Log: the time of the first record, and the number of
	// records. Zero: the record is not merged.
	Since time.Time
	Count int
	// Status is the status of a KindStatus record.
	Status *Status
}

// startTime returns when the record began: the start of the first record that was merged into it, or its time
// minus its duration.
func (r *Record) startTime() time.Time {
	if !r.Since.IsZero() {
		return r.Since
	}
	return r.At.Add(-r.Took)
}

// Status is the part of a pod status that a timeline shows.
type Status struct {
	// Pod is the pod's namespace and name, as "default/web".
	Pod     string
	Phase   v1.PodPhase
	Summary string // one line, as kubectl shows it
	// SandboxReady is the condition PodReadyToStartContainers.
	SandboxReady bool
	Containers   []Container
}

// Container is a container of a Status.
type Container struct {
	Name            string
	Kind            ContainerKind
	Waiting         bool
	Reason, Message string // of the wait
	Restarts        int32
	// Run is the current run, or the last one if it has Ended. Last is the run before. nil: there is none.
	Run, Last *Run
}

// ContainerKind is the kind of a container.
type ContainerKind string

// The kinds of containers.
const (
	// Init runs to completion before regular containers start.
	Init ContainerKind = "init container"
	// Sidecar is an init container that keeps running.
	Sidecar ContainerKind = "sidecar"
	// Regular is one of spec.containers.
	Regular ContainerKind = "container"
	// Ephemeral was added to a running pod.
	Ephemeral ContainerKind = "ephemeral container"
)

// Run is one run of a container.
type Run struct {
	StartedAt       time.Time // zero: the container could not be started
	FinishedAt      time.Time // zero: the run has not ended, or its end is not known
	Ended           bool
	ExitCode        int32
	Reason, Message string
}

// StatusOf returns the part of a pod's status that a timeline shows. It does not retain the pod.
func StatusOf(pod *v1.Pod, summary string) *Status {
	s := &Status{Pod: pod.Namespace + "/" + pod.Name, Phase: pod.Status.Phase, Summary: shortPrintableLine(summary)}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodReadyToStartContainers {
			s.SandboxReady = c.Status == v1.ConditionTrue
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.Containers = append(s.Containers, containerFromStatus(c, initContainerKind(pod, c.Name)))
	}
	for i := range pod.Status.ContainerStatuses {
		s.Containers = append(s.Containers, containerFromStatus(&pod.Status.ContainerStatuses[i], Regular))
	}
	for i := range pod.Status.EphemeralContainerStatuses {
		s.Containers = append(s.Containers, containerFromStatus(&pod.Status.EphemeralContainerStatuses[i], Ephemeral))
	}
	return s
}

// initContainerKind returns Sidecar for an init container with restartPolicy Always, and Init otherwise.
func initContainerKind(pod *v1.Pod, name string) ContainerKind {
	i := slices.IndexFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name })
	if i >= 0 {
		if p := pod.Spec.InitContainers[i].RestartPolicy; p != nil && *p == v1.ContainerRestartPolicyAlways {
			return Sidecar
		}
	}
	return Init
}

// containerFromStatus converts a container status: its state, its last termination and its restart count.
func containerFromStatus(s *v1.ContainerStatus, kind ContainerKind) Container {
	c := Container{Name: s.Name, Kind: kind, Restarts: s.RestartCount, Last: runFromTermination(s.LastTerminationState.Terminated)}
	switch {
	case s.State.Running != nil:
		c.Run = &Run{StartedAt: s.State.Running.StartedAt.Time}
	case s.State.Terminated != nil:
		c.Run = runFromTermination(s.State.Terminated)
	case s.State.Waiting != nil:
		c.Waiting, c.Reason, c.Message = true, shortPrintableLine(s.State.Waiting.Reason), shortPrintableLine(s.State.Waiting.Message)
	}
	return c
}

// runFromTermination converts a terminated state to a run that has ended. It returns nil for nil.
func runFromTermination(t *v1.ContainerStateTerminated) *Run {
	if t == nil {
		return nil
	}
	return &Run{
		StartedAt: t.StartedAt.Time, FinishedAt: t.FinishedAt.Time, Ended: true,
		ExitCode: t.ExitCode, Reason: shortPrintableLine(t.Reason), Message: shortPrintableLine(t.Message),
	}
}

// MaxText is the maximum length of a text of a Record, in bytes.
const MaxText = 512

// shortPrintableLine returns a text as one line without unprintable characters. A text of more than MaxText bytes is
// cut and ends with "...".
func shortPrintableLine(text string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(text) > 4*MaxText {
		text = text[:4*MaxText] // Long enough, however much is removed below.
	}
	if strings.ContainsFunc(text, odd) || !utf8.ValidString(text) {
		text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), odd), " ")
	}
	if len(text) <= MaxText {
		return text
	}
	end := MaxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}
