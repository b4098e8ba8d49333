package timeline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
)

// Kind says what a Record is about.
type Kind string

// The kinds of records.
const (
	// KindStatus is a new status of the pod.
	KindStatus Kind = "status"
	// KindPhase is a phase that the pod's worker has entered; Name is the phase.
	KindPhase Kind = "phase"
	// KindSync is a call of the PodSyncer that has failed; Name is the call.
	KindSync Kind = "sync"
	// KindAction is something that was done, or was tried; Name is a podsync.Action.
	KindAction Kind = "action"
	// KindBackoff is a container that is not started again before Until.
	KindBackoff Kind = "backoff"
	// KindProbe is the result of one check; Name is startup, readiness or liveness.
	KindProbe Kind = "probe"
	// KindEvent is an event; Name is its reason.
	KindEvent Kind = "event"
	// KindNote is about the agent and not about the pod: it has crashed, or has started.
	KindNote Kind = "note"
	// KindGone says that the node knows the pod no more. It is the last record, unless the
	// UID comes back.
	KindGone Kind = "gone"
)

// Record is one thing that happened to a pod. A field that says nothing is zero.
type Record struct {
	// At is when it happened, or had ended if it took time.
	At time.Time
	// Took is how long it took.
	Took time.Duration
	Kind Kind
	// Container is the name of the one that this is about; empty: the pod.
	Container string
	Name      string
	// Text is for people: a reason, a message, what a check said.
	Text string
	// Err is why it failed. Of a probe it is the result of a check that failed.
	Err     string
	Warning bool
	// Until is when a back-off is over.
	Until time.Time
	// Since and Count are of records that a Log has joined: when the first of them was, and
	// how many they are. Zero: it is one.
	Since time.Time
	Count int
	// Status is that of KindStatus.
	Status *Status
}

// startTime is when the first of what the record tells of began.
func (r *Record) startTime() time.Time {
	if !r.Since.IsZero() {
		return r.Since
	}
	return r.At.Add(-r.Took)
}

// Status is what a status says that can be drawn.
type Status struct {
	// Pod is the pod's namespace and name, as "default/web".
	Pod     string
	Phase   v1.PodPhase
	Summary string // on one line, as kubectl has it
	// SandboxReady is the condition PodReadyToStartContainers.
	SandboxReady bool
	Containers   []Container
}

// Container is a container of a Status.
type Container struct {
	Name            string
	Kind            ContainerKind
	Waiting         bool
	Reason, Message string // why it waits
	Restarts        int32
	// Run is the run that is under way, or the last one, which has Ended then; Last is the one
	// before. Nil: there is none.
	Run, Last *Run
}

// ContainerKind tells containers apart by what they are for.
type ContainerKind string

// The kinds of containers.
const (
	// Init runs to its end before regular containers start.
	Init ContainerKind = "init container"
	// Sidecar is an init container that goes on running.
	Sidecar ContainerKind = "sidecar"
	// Regular is one of spec.containers.
	Regular ContainerKind = "container"
	// Ephemeral was added to a running pod.
	Ephemeral ContainerKind = "ephemeral container"
)

// Run is one run of a container.
type Run struct {
	StartedAt       time.Time // zero: it could not be started
	FinishedAt      time.Time // zero: it has not ended, or its end is not known
	Ended           bool
	ExitCode        int32
	Reason, Message string
}

// StatusOf takes from a pod with its status what can be drawn. It keeps nothing of the pod.
func StatusOf(pod *v1.Pod, summary string) *Status {
	s := &Status{Pod: pod.Namespace + "/" + pod.Name, Phase: pod.Status.Phase, Summary: printableLine(summary)}
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

func initContainerKind(pod *v1.Pod, name string) ContainerKind {
	i := slices.IndexFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name })
	if i >= 0 {
		if p := pod.Spec.InitContainers[i].RestartPolicy; p != nil && *p == v1.ContainerRestartPolicyAlways {
			return Sidecar
		}
	}
	return Init
}

func containerFromStatus(s *v1.ContainerStatus, kind ContainerKind) Container {
	c := Container{Name: s.Name, Kind: kind, Restarts: s.RestartCount, Last: runFromTermination(s.LastTerminationState.Terminated)}
	switch {
	case s.State.Running != nil:
		c.Run = &Run{StartedAt: s.State.Running.StartedAt.Time}
	case s.State.Terminated != nil:
		c.Run = runFromTermination(s.State.Terminated)
	case s.State.Waiting != nil:
		c.Waiting, c.Reason, c.Message = true, printableLine(s.State.Waiting.Reason), printableLine(s.State.Waiting.Message)
	}
	return c
}

func runFromTermination(t *v1.ContainerStateTerminated) *Run {
	if t == nil {
		return nil
	}
	return &Run{
		StartedAt: t.StartedAt.Time, FinishedAt: t.FinishedAt.Time, Ended: true,
		ExitCode: t.ExitCode, Reason: printableLine(t.Reason), Message: printableLine(t.Message),
	}
}

// MaxText is the most bytes of a text of a Record.
const MaxText = 512

// printableLine makes one line of a text: what is not printed is left out, and what is too long is cut.
func printableLine(text string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(text) > 4*MaxText {
		text = text[:4*MaxText] // Enough, whatever is left out of it.
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
