package faulty

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The methods of package runtime that a rule can name.
const (
	// ListPods is a method of runtime.PodLister.
	ListPods = "ListPods"
	// PodStatus is a method of runtime.PodLister.
	PodStatus = "PodStatus"
	// RunSandbox is the method of runtime.Sandboxes.
	RunSandbox = "RunSandbox"
	// StopSandbox is the method of runtime.Sandboxes.
	StopSandbox = "StopSandbox"
	// RemoveSandbox is the method of runtime.Sandboxes.
	RemoveSandbox = "RemoveSandbox"
	// CreateContainer is the method of runtime.Containers.
	CreateContainer = "CreateContainer"
	// StartContainer is the method of runtime.Containers.
	StartContainer = "StartContainer"
	// StopContainer is the method of runtime.Containers.
	StopContainer = "StopContainer"
	// RemoveContainer is the method of runtime.Containers.
	RemoveContainer = "RemoveContainer"
	// PullImage is the method of runtime.Images.
	PullImage = "PullImage"
	// ImageStatus is the method of runtime.Images.
	ImageStatus = "ImageStatus"
	// ListImages is the method of runtime.Images.
	ListImages = "ListImages"
	// RemoveImage is the method of runtime.Images.
	RemoveImage = "RemoveImage"
	// Events is the method of runtime.EventSource.
	Events = "Events"
	// RuntimeStatus is the method of runtime.StatusReporter.
	RuntimeStatus = "RuntimeStatus"
	// Exec is the method of runtime.Execer.
	Exec = "Exec"
	// ReadLog is the method of runtime.LogReader.
	ReadLog = "ReadLog"
	// ReopenContainerLog is the method of runtime.LogReopener.
	ReopenContainerLog = "ReopenContainerLog"
	// ImageFilesystem is the method of runtime.ImageFilesystem.
	ImageFilesystem = "ImageFilesystem"
	// ListUsedImages is the method of runtime.UsedImageLister.
	ListUsedImages = "ListUsedImages"
	// PodStats is the method of runtime.StatsReader.
	PodStats = "PodStats"
	// UpdateContainer is the method of runtime.Updater.
	UpdateContainer = "UpdateContainer"
	// RunHandler is the method of runtime.HandlerRunner.
	RunHandler = "RunHandler"
	// Version is the method of runtime.Versioner.
	Version = "Version"
	// UpdatePodCIDR is the method of runtime.PodCIDRUpdater.
	UpdatePodCIDR = "UpdatePodCIDR"
)

// ErrInjected is the error of a fault whose rule has no Err.
var ErrInjected = errors.New("faulty: injected")

// Rule selects calls and defines the fault that happens to them.
type Rule struct {
	// Verb (a method name), UID, Pod (a name) and Container (a name) select the calls. An empty
	// field matches every call. A call that concerns no pod or container only matches a rule that
	// selects none.
	Verb      string
	UID       types.UID
	Pod       string
	Container string

	// Skip is how many matching calls pass before the rule applies. Times is how many calls it then
	// applies to; 0 is all. Each rule has its own count.
	Skip  int
	Times int

	// Latency passes before the fault happens.
	Latency time.Duration
	// Do is the fault.
	Do Fault
	// Err is the error of Fail and FailDone; nil is ErrInjected.
	Err error
}

// Fault is the effect of a rule on a call.
type Fault uint8

// The faults.
const (
	// Nothing only adds the latency.
	Nothing Fault = iota
	// Fail returns the error without making the call.
	Fail
	// FailDone makes the call and then returns the error: the reply is lost.
	FailDone
	// Hang does not make the call, and returns when the context ends.
	Hang
	// HangDone makes the call, and returns when the context ends.
	HangDone
	// Lie returns success without making the call. Only a method that returns nothing but an error
	// can lie, and the rule must name it. RunHandler can lie too: it makes the call and returns the
	// opposite result.
	Lie
	// Omit removes matching pods, containers or events from the results of ListPods, PodStatus and
	// Events. It counts the results that had something to remove, and each event.
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
	allVerbs = []string{
		ListPods, PodStatus, RunSandbox, StopSandbox, RemoveSandbox, CreateContainer, StartContainer, StopContainer,
		RemoveContainer, PullImage, ImageStatus, ListImages, RemoveImage, Events, RuntimeStatus, Exec, ReadLog,
		ImageFilesystem, ListUsedImages, PodStats, UpdateContainer, RunHandler, Version, ReopenContainerLog, UpdatePodCIDR,
	}
	lieVerbs  = []string{StopSandbox, RemoveSandbox, StartContainer, StopContainer, RemoveContainer, RemoveImage, UpdateContainer, RunHandler, ReopenContainerLog}
	omitVerbs = []string{"", ListPods, PodStatus, Events}
	// verbsWithoutPod concern no pod: a rule for them that selects one would never match.
	verbsWithoutPod = []string{ListPods, ListImages, ListUsedImages, RemoveImage, Events, RuntimeStatus, Version, UpdatePodCIDR}
)

// Verbs returns the names of all methods that a rule can name. The caller owns the slice.
func Verbs() []string { return slices.Clone(allVerbs) }

// validate returns one error that names every fault of the rule, or nil.
func (r Rule) validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("faulty: "+format, args...)) }
	if r.Verb != "" && !slices.Contains(allVerbs, r.Verb) {
		fault("unknown verb %q", r.Verb)
	}
	if r.Skip < 0 || r.Times < 0 || r.Latency < 0 {
		fault("Skip, Times and Latency cannot be negative")
	}
	if int(r.Do) >= len(faultNames) {
		fault("unknown %s", r.Do)
	}
	if r.Do == Lie && !slices.Contains(lieVerbs, r.Verb) {
		fault("%q cannot Lie; allowed are %v", r.Verb, lieVerbs)
	}
	if r.Do == Omit && !slices.Contains(omitVerbs, r.Verb) {
		fault("%q cannot Omit; allowed are %v", r.Verb, omitVerbs[1:])
	}
	if r.Do != Omit && r.selectsPod() && slices.Contains(verbsWithoutPod, r.Verb) {
		fault("%s concerns no pod, so a rule that selects one never applies", r.Verb)
	}
	if r.Err != nil && r.Do != Fail && r.Do != FailDone {
		fault("%s returns no Err", r.Do)
	}
	return errors.Join(errs...)
}

// selectsPod reports whether the rule selects by pod UID, pod name or container name. It returns false for a
// rule that applies to all pods.
func (r Rule) selectsPod() bool { return r.UID != "" || r.Pod != "" || r.Container != "" }

// callSubject is the pod and container that a call concerns, as far as they are known.
type callSubject struct {
	uid       types.UID
	pod       string
	container string
}

// matchesSubject reports whether the rule selects the pod and container of a call. An empty field of the rule
// matches everything.
func (r Rule) matchesSubject(a callSubject) bool {
	return (r.UID == "" || r.UID == a.uid) && (r.Pod == "" || r.Pod == a.pod) && (r.Container == "" || r.Container == a.container)
}

// injectedError returns the error that the actions Fail and FailDone return: the rule's own, or one that wraps
// ErrInjected.
func (r Rule) injectedError(verb string) error {
	if r.Err != nil {
		return r.Err
	}
	return fmt.Errorf("%w: %s", ErrInjected, verb)
}
