package runtimetest

import (
	"reflect"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var reopenCases = []Case{
	{"reopen/records", "all records survive a restart of the agent unchanged", checkRecordsSurviveRestart},
	{"reopen/running", "a running container survives a restart of the agent, and the next agent can stop it", checkRunningSurvivesRestart},
	{"reopen/exit", "a container that exits while no agent runs keeps its exit code and times", checkExitDuringRestart},
	{"reopen/attempts", "an attempt that existed before a restart of the agent is ErrExists afterwards", checkAttemptsSurviveRestart},
	{"reopen/removed", "records that were removed before a restart of the agent do not return", checkRemovalsSurviveRestart},
	{"reopen/log", "the log of a container survives a restart of the agent", checkLogSurvivesRestart},
}

// canReopenOrSkip reports whether the harness can simulate a restart of the agent. If it cannot, the case is
// skipped.
func (b *bench) canReopenOrSkip() bool {
	if b.h.Reopen == nil {
		b.Skipf("Harness.Reopen is nil")
		return false
	}
	return true
}

// restartAgent simulates a restart of the agent with Harness.Reopen, which closes the runtime client, calls
// whileAbsent and returns a new client. The case continues with the new client. It fails the case on an error.
func (b *bench) restartAgent(whileAbsent func()) {
	b.Helper()
	called := false
	rt, err := b.h.Reopen(func() {
		called = true
		whileAbsent()
	})
	b.Must(err, "Harness.Reopen")
	b.Check(rt != nil, "Harness.Reopen returned no runtime")
	b.Check(called, "Harness.Reopen did not call its argument while there was no client")
	b.rt.inner = rt
}

func doNothing() {}

// newPodWithAllStates creates a pod with a stopped sandbox, a ready sandbox, and containers that are created,
// running and exited.
func (b *bench) newPodWithAllStates() runtime.PodRef {
	b.Helper()
	ref, old, _ := b.runContainer(b.h.Forever)
	b.Must(b.stopSandbox(old), "StopSandbox")
	sandbox := b.runSandbox(ref, 1)
	b.createContainer(ref, sandbox, "created", 0, b.h.Forever)
	b.startContainer(b.createContainer(ref, sandbox, "main", 2, b.h.Forever))
	exited := b.createContainer(ref, sandbox, "exited", 3, b.h.Exit(0, 9))
	b.startContainer(exited)
	b.waitForExit(ref, exited)
	return ref
}

func checkRecordsSurviveRestart(b *bench) {
	if !b.canReopenOrSkip() {
		return
	}
	ref := b.newPodWithAllStates()
	before := b.podStatus(ref)
	was := *before
	was.Sandboxes, was.Containers = slices.Clone(before.Sandboxes), slices.Clone(before.Containers)
	b.restartAgent(doNothing)
	b.Check(reflect.DeepEqual(was, *b.podStatus(ref)), "the restart of the agent changed the status from %+v to %+v", was, *b.podStatus(ref))
	b.waitFor("ListPods shows two sandboxes and four containers", func() bool {
		p, _ := b.findListedPod(ref)
		return p.Name == ref.Name && p.Namespace == ref.Namespace && len(p.Sandboxes) == 2 && len(p.Containers) == 4
	})
}

func checkRunningSurvivesRestart(b *bench) {
	if !b.canReopenOrSkip() {
		return
	}
	ref, sandbox, id := b.runForeverUntilReady()
	before := b.containerStatus(ref, id)
	b.restartAgent(func() { b.sleep(time.Second) })
	after := b.containerStatus(ref, id)
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "a container that started at %s must still run after the restart of the agent; it is %s and StartedAt is %s", before.StartedAt, after.State, after.StartedAt)
	b.Check(b.sandboxStatus(ref, sandbox).Ready, "the sandbox is not ready after the restart of the agent")
	b.Must(b.stopContainer(id, b.h.WaitTimeout), "StopContainer")
	c := b.containerStatus(ref, id)
	b.panicToRetryIfTrapsUnset(c.State == runtime.StateExited && c.ExitCode != 143)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 143, "after StopContainer the container is %s with exit code %d, want exited with 143", c.State, c.ExitCode)
}

func checkExitDuringRestart(b *bench) {
	if !b.canReopenOrSkip() {
		return
	}
	const runs = 3 * time.Second
	ref, _, id := b.runContainer(b.h.Exit(runs, 9))
	began := b.containerStatus(ref, id).StartedAt
	b.restartAgent(func() { b.sleep(2 * runs) })
	c := b.waitForExit(ref, id)
	b.Check(c.ExitCode == 9, "a container that exited with 9 has ExitCode %d", c.ExitCode)
	b.Check(c.StartedAt.Equal(began), "StartedAt changed from %s to %s", began, c.StartedAt)
	ran := c.FinishedAt.Sub(c.StartedAt)
	b.Check(ran > runs/2 && ran < runs+b.h.Slack, "the command runs %s, but FinishedAt is %s after StartedAt", runs, ran)
}

func checkAttemptsSurviveRestart(b *bench) {
	if !b.canReopenOrSkip() {
		return
	}
	ref, sandbox, _ := b.runContainer(b.h.Forever)
	b.restartAgent(doNothing)
	_, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	b.requireErrorIs(err, runtime.ErrExists, "RunSandbox of the same attempt")
	_, err = b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "main", 0, b.h.Forever))
	b.requireErrorIs(err, runtime.ErrExists, "CreateContainer of the same attempt")
	st := b.podStatus(ref)
	b.Check(len(st.Sandboxes) == 1 && len(st.Containers) == 1, "the pod has %d sandboxes and %d containers, want 1 of each", len(st.Sandboxes), len(st.Containers))
	next := b.createContainer(ref, sandbox, "main", 1, b.h.Forever)
	b.startContainer(next)
	b.Check(b.containerStatus(ref, next).State == runtime.StateRunning, "the next attempt is not running")
}

func checkRemovalsSurviveRestart(b *bench) {
	if !b.canReopenOrSkip() {
		return
	}
	ref, sandbox, id := b.runContainer(b.h.Exit(0, 0))
	b.waitForExit(ref, id)
	b.Must(b.removeContainer(id), "RemoveContainer")
	gone, other, _ := b.runContainer(b.h.Forever)
	b.Must(b.removeSandbox(other), "RemoveSandbox")
	b.restartAgent(doNothing)
	b.Check(len(b.podStatus(ref).Containers) == 0 && b.sandboxStatus(ref, sandbox).Ready, "after the restart the removed container is present, or its sandbox is not: %+v", b.podStatus(ref))
	b.Check(len(b.podStatus(gone).Sandboxes) == 0, "after the restart the removed sandbox is present")
	b.waitFor("the pod is not listed", func() bool { _, ok := b.findListedPod(gone); return !ok })
}

func checkLogSurvivesRestart(b *bench) {
	if !b.canReopenOrSkip() {
		return
	}
	if _, ok := logReaderOrSkip(b); !ok {
		return
	}
	ref, _, id := b.runContainer(b.h.Print(printLines, 3))
	b.restartAgent(func() { b.sleep(time.Second) })
	b.waitForExit(ref, id)
	l, ok := logReaderOrSkip(b)
	if !ok {
		return
	}
	got := b.readLog(l, runtime.ReadLogRequest{ContainerID: id})
	b.Check(got == printOutput, "the container printed %q, but its log is %q", printOutput, got)
}
