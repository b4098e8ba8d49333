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

// stallLimit is how long one step may take in real time. A step is what happens
// from one wait to the next, which is microseconds.
const stallLimit = 20 * time.Second

// drive runs f, which drives the simulation, and fails the test with what that
// shows to be wrong.
func (s *Stepper) drive(f func()) {
	if t := s.config.T; t != nil {
		t.Helper()
	}
	defer s.explain()
	f()
	if s.wrong != "" {
		wrong := s.wrong
		s.wrong = ""
		s.fail(wrong)
	}
}

// explain turns a panic of the simulation itself into a failure of the test.
func (s *Stepper) explain() {
	v := recover()
	if v == nil {
		return
	}
	var fault *executor.Fault
	if err, ok := v.(error); !ok || !errors.As(err, &fault) || s.config.T == nil {
		panic(v)
	}
	wrong := s.wrong // It may be known in which call that was.
	s.wrong = ""
	s.config.T.Helper()
	if wrong == "" {
		wrong = fmt.Sprintf("podworkerstest: %v", v)
	}
	s.fail(wrong)
}

// fail fails the test, or panics where there is none.
func (s *Stepper) fail(wrong string) {
	if t := s.config.T; t != nil {
		t.Helper()
		t.Fatal(wrong)
	}
	panic(wrong)
}

func (s *Stepper) stalled(stack string) {
	s.fail("podworkerstest: a call in the simulation waits for something outside it, and nothing can go on. " +
		"A PodSyncer waits by podworkers.Wait(ctx, d): not on channels, locks, timers or the clock of the machine.\n" + stack)
}

func (s *Stepper) hopeless(reason error) {
	s.fail(fmt.Sprintf("podworkerstest: what the test waits for does not come: %v", reason))
}

// cleanup ends the test.
func (s *Stepper) cleanup() {
	if t := s.config.T; t.Failed() {
		t.Logf("The transcript:\n%s", s.Transcript())
	}
	s.Close()
}

// watched is a syncer of the user's. A panic of it, which the workers would
// contain, fails the test.
type watched struct {
	s    *Stepper
	next podworkers.PodSyncer
}

func (w watched) SyncPod(ctx context.Context, u podworkers.SyncPodType, pod, mirror *v1.Pod, status *runtime.PodStatus) (bool, error) {
	defer w.panics(lifecycle.SyncPod, pod.Namespace+"/"+pod.Name)
	return w.next.SyncPod(ctx, u, pod, mirror, status)
}

func (w watched) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus, grace *int64, statusFunc podworkers.PodStatusFunc) error {
	defer w.panics(lifecycle.SyncTerminatingPod, pod.Namespace+"/"+pod.Name)
	return w.next.SyncTerminatingPod(ctx, pod, status, grace, statusFunc)
}

func (w watched) SyncTerminatingRuntimePod(ctx context.Context, running *runtime.Pod) error {
	defer w.panics(lifecycle.SyncTerminatingRuntimePod, running.Namespace+"/"+running.Name)
	return w.next.SyncTerminatingRuntimePod(ctx, running)
}

func (w watched) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) error {
	defer w.panics(lifecycle.SyncTerminatedPod, pod.Namespace+"/"+pod.Name)
	return w.next.SyncTerminatedPod(ctx, pod, status)
}

// panics is deferred around a call.
func (w watched) panics(method lifecycle.Kind, pod string) {
	v := recover()
	if v == nil {
		return
	}
	if w.s.wrong == "" {
		w.s.wrong = fmt.Sprintf("podworkerstest: %s of pod %s panicked: %v\n%s", method, pod, v, debug.Stack())
	}
	panic(v)
}
