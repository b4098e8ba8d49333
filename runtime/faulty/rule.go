package faulty

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The verbs a rule can name: the methods of the interfaces in package runtime.
const (
	// ListPods is the verb of runtime.PodLister.
	ListPods = "ListPods"
	// PodStatus is the verb of runtime.PodLister.
	PodStatus = "PodStatus"
	// RunSandbox is the verb of runtime.Sandboxes.
	RunSandbox = "RunSandbox"
	// StopSandbox is the verb of runtime.Sandboxes.
	StopSandbox = "StopSandbox"
	// RemoveSandbox is the verb of runtime.Sandboxes.
	RemoveSandbox = "RemoveSandbox"
	// CreateContainer is the verb of runtime.Containers.
	CreateContainer = "CreateContainer"
	// StartContainer is the verb of runtime.Containers.
	StartContainer = "StartContainer"
	// StopContainer is the verb of runtime.Containers.
	StopContainer = "StopContainer"
	// RemoveContainer is the verb of runtime.Containers.
	RemoveContainer = "RemoveContainer"
	// PullImage is the verb of runtime.Images.
	PullImage = "PullImage"
	// ImageStatus is the verb of runtime.Images.
	ImageStatus = "ImageStatus"
	// ListImages is the verb of runtime.Images.
	ListImages = "ListImages"
	// RemoveImage is the verb of runtime.Images.
	RemoveImage = "RemoveImage"
	// Events is the verb of runtime.EventSource.
	Events = "Events"
	// RuntimeStatus is the verb of runtime.StatusReporter.
	RuntimeStatus = "RuntimeStatus"
	// Exec is the verb of runtime.Execer.
	Exec = "Exec"
	// ReadLog is the verb of runtime.LogReader.
	ReadLog = "ReadLog"
	// ReopenContainerLog is the verb of runtime.LogReopener.
	ReopenContainerLog = "ReopenContainerLog"
	// ImageFilesystem is the verb of runtime.ImageFilesystem.
	ImageFilesystem = "ImageFilesystem"
	// ListUsedImages is the verb of runtime.UsedImageLister.
	ListUsedImages = "ListUsedImages"
	// PodStats is the verb of runtime.StatsReader.
	PodStats = "PodStats"
	// UpdateContainer is the verb of runtime.Updater.
	UpdateContainer = "UpdateContainer"
	// RunHandler is the verb of runtime.HandlerRunner.
	RunHandler = "RunHandler"
	// Version is the verb of runtime.Versioner.
	Version = "Version"
	// UpdatePodCIDR is the verb of runtime.PodCIDRUpdater.
	UpdatePodCIDR = "UpdatePodCIDR"
)

// ErrInjected is what a call fails with if the rule names no error.
var ErrInjected = errors.New("faulty: injected")

// Rule is one kind of trouble: which calls, and what happens to them.
type Rule struct {
	// Verb, UID, Pod (a name) and Container (a name) say which calls the rule
	// is for; an empty one matches every call. A call that is about no pod or
	// container is matched only by a rule that names none.
	Verb      string
	UID       types.UID
	Pod       string
	Container string

	// Skip is how many matching calls are let through first, and Times how
	// many it then applies to; 0 is all. Each rule counts for itself.
	Skip  int
	Times int

	// Latency passes before anything else happens.
	Latency time.Duration
	// Do is what happens then.
	Do Fault
	// Err is what Fail and FailDone fail with; nil is ErrInjected.
	Err error
}

// Fault is what happens to a call.
type Fault uint8

// The faults.
const (
	// Nothing but the latency happens.
	Nothing Fault = iota
	// Fail returns the error and does nothing.
	Fail
	// FailDone does what was asked and returns the error: the reply is lost.
	FailDone
	// Hang does nothing and returns when the context ends.
	Hang
	// HangDone does what was asked and returns when the context ends.
	HangDone
	// Lie returns success and does nothing. Only verbs that return nothing
	// but an error can lie so; the rule must name one. Answer can lie too: it
	// asks and says the opposite.
	Lie
	// Omit leaves matching pods, containers or events out of ListPods,
	// PodStatus and Events. It counts the answers that had something to leave
	// out, and each event.
	Omit
)

var faultNames = [...]string{"Nothing", "Fail", "FailDone", "Hang", "HangDone", "Lie", "Omit"}

// String is the fault's name.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

var (
	verbs = []string{
		ListPods, PodStatus, RunSandbox, StopSandbox, RemoveSandbox, CreateContainer, StartContainer, StopContainer,
		RemoveContainer, PullImage, ImageStatus, ListImages, RemoveImage, Events, RuntimeStatus, Exec, ReadLog,
		ImageFilesystem, ListUsedImages, PodStats, UpdateContainer, RunHandler, Version, ReopenContainerLog, UpdatePodCIDR,
	}
	lying   = []string{StopSandbox, RemoveSandbox, StartContainer, StopContainer, RemoveContainer, RemoveImage, UpdateContainer, RunHandler, ReopenContainerLog}
	showing = []string{"", ListPods, PodStatus, Events}
	// about no pod: rules for them that name one would never match.
	aboutNobody = []string{ListPods, ListImages, ListUsedImages, RemoveImage, Events, RuntimeStatus, Version, UpdatePodCIDR}
)

// Verbs returns the names of all verbs that a rule can name, for tests that go
// through all of them. The slice is the caller's.
func Verbs() []string { return slices.Clone(verbs) }

// check names everything that is wrong with a rule.
func (r Rule) check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("faulty: "+format, args...)) }
	if r.Verb != "" && !slices.Contains(verbs, r.Verb) {
		fault("there is no verb %q", r.Verb)
	}
	if r.Skip < 0 || r.Times < 0 || r.Latency < 0 {
		fault("Skip, Times and Latency cannot be negative")
	}
	if int(r.Do) >= len(faultNames) {
		fault("there is no %s", r.Do)
	}
	if r.Do == Lie && !slices.Contains(lying, r.Verb) {
		fault("%q cannot Lie; these can: %v", r.Verb, lying)
	}
	if r.Do == Omit && !slices.Contains(showing, r.Verb) {
		fault("%q cannot Omit; these can: %v", r.Verb, showing[1:])
	}
	if r.Do != Omit && r.named() && slices.Contains(aboutNobody, r.Verb) {
		fault("%s is about no pod, so a rule that names one never applies", r.Verb)
	}
	if r.Err != nil && r.Do != Fail && r.Do != FailDone {
		fault("%s returns no Err", r.Do)
	}
	return errors.Join(errs...)
}

// named reports whether the rule is for particular pods or containers.
func (r Rule) named() bool { return r.UID != "" || r.Pod != "" || r.Container != "" }

// about is whom a call concerns, as far as that is known.
type about struct {
	uid       types.UID
	pod       string
	container string
}

func (r Rule) matches(a about) bool {
	return (r.UID == "" || r.UID == a.uid) && (r.Pod == "" || r.Pod == a.pod) && (r.Container == "" || r.Container == a.container)
}

// failure is the error the rule fails with.
func (r Rule) failure(verb string) error {
	if r.Err != nil {
		return r.Err
	}
	return fmt.Errorf("%w: %s", ErrInjected, verb)
}
