package podworkerstest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// stallLimit is how long one step may take in real time. A step takes microseconds, since it only
// runs from one wait to the next.
const stallLimit = 20 * time.Second

// runAndFailOnSyncerPanic runs f, which drives the simulation. It fails the test if the syncer has panicked or
// the simulation had a fault meanwhile.
func (s *Stepper) runAndFailOnSyncerPanic(f func()) {
	if t := s.config.T; t != nil {
		t.Helper()
	}
	defer s.recoverFaultAndFailTest()
	f()
	if s.syncerPanic != "" {
		wrong := s.syncerPanic
		s.syncerPanic = ""
		s.failTestOrPanic(wrong)
	}
}

// recoverFaultAndFailTest recovers a fault of the simulation and fails the test. If the panic is not such a
// fault, or the Stepper has no test, the panic continues. It must be deferred.
func (s *Stepper) recoverFaultAndFailTest() {
	v := recover()
	if v == nil {
		return
	}
	var fault *executor.Fault
	if err, ok := v.(error); !ok || !errors.As(err, &fault) || s.config.T == nil {
		panic(v)
	}
	wrong := s.syncerPanic // A recorded panic says in which call that was.
	s.syncerPanic = ""
	s.config.T.Helper()
	if wrong == "" {
		wrong = fmt.Sprintf("podworkerstest: %v", v)
	}
	s.failTestOrPanic(wrong)
}

// failTestOrPanic fails the test with the text. If the Stepper has no test, it panics with the text. It does
// not return.
func (s *Stepper) failTestOrPanic(wrong string) {
	if t := s.config.T; t != nil {
		t.Helper()
		t.Fatal(wrong)
	}
	panic(wrong)
}

// failTestForStall fails the test because a call blocks the simulation: it waits for a thing outside it. stack
// shows the call. Without a test it panics.
func (s *Stepper) failTestForStall(stack string) {
	s.failTestOrPanic("podworkerstest: a call in the simulation waits for something outside it and blocks the simulation. " +
		"A PodSyncer waits by podworkers.Wait(ctx, d): not on channels, locks, timers or the clock of the machine.\n" + stack)
}

// failTestForEndlessWait fails the test because nothing in the simulation can end the test's wait. Without a
// test it panics.
func (s *Stepper) failTestForEndlessWait(reason error) {
	s.failTestOrPanic(fmt.Sprintf("podworkerstest: the wait of the test cannot end: %v", reason))
}

// logFailedTranscriptAndClose logs the transcript if the test has failed. It closes the Stepper in any case.
func (s *Stepper) logFailedTranscriptAndClose() {
	if t := s.config.T; t.Failed() {
		t.Logf("The transcript:\n%s", s.Transcript())
	}
	s.Close()
}

// panicCheckedSyncer is a syncer of the user. The workers would recover its panic, so it records
// the panic to fail the test.
type panicCheckedSyncer struct {
	s    *Stepper
	next podworkers.PodSyncer
}

// SyncPod implements podworkers.PodSyncer.
func (w panicCheckedSyncer) SyncPod(ctx context.Context, u podworkers.SyncPodType, pod, mirror *v1.Pod, status *runtime.PodStatus) (bool, error) {
	defer w.storePanicAndRepanic(lifecycle.SyncPod, pod.Namespace+"/"+pod.Name)
	return w.next.SyncPod(ctx, u, pod, mirror, status)
}

// SyncTerminatingPod implements podworkers.PodSyncer.
func (w panicCheckedSyncer) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus, grace *int64, statusFunc podworkers.PodStatusFunc) error {
	defer w.storePanicAndRepanic(lifecycle.SyncTerminatingPod, pod.Namespace+"/"+pod.Name)
	return w.next.SyncTerminatingPod(ctx, pod, status, grace, statusFunc)
}

// SyncTerminatingRuntimePod implements podworkers.PodSyncer.
func (w panicCheckedSyncer) SyncTerminatingRuntimePod(ctx context.Context, running *runtime.Pod) error {
	defer w.storePanicAndRepanic(lifecycle.SyncTerminatingRuntimePod, running.Namespace+"/"+running.Name)
	return w.next.SyncTerminatingRuntimePod(ctx, running)
}

// SyncTerminatedPod implements podworkers.PodSyncer.
func (w panicCheckedSyncer) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) error {
	defer w.storePanicAndRepanic(lifecycle.SyncTerminatedPod, pod.Namespace+"/"+pod.Name)
	return w.next.SyncTerminatedPod(ctx, pod, status)
}

// storePanicAndRepanic recovers a panic of a call, stores its text and stack if it is the first one, and panics
// again. It must be deferred.
func (w panicCheckedSyncer) storePanicAndRepanic(method lifecycle.Kind, pod string) {
	v := recover()
	if v == nil {
		return
	}
	if w.s.syncerPanic == "" {
		w.s.syncerPanic = fmt.Sprintf("podworkerstest: %s of pod %s panicked: %v\n%s", method, pod, v, debug.Stack())
	}
	panic(v)
}
