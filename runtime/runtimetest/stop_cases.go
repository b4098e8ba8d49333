package runtimetest

import (
	"errors"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var stopCases = []Case{
	{"stop/term", "StopContainer sends TERM first, and returns as soon as the container exits", checkStopByTerm},
	{"stop/kill", "a container that does not exit within the grace period is killed then, and not earlier", checkKillAfterGrace},
	{"stop/signal", "StopContainer sends the StopSignal, or CreateContainer is ErrUnsupported and leaves no record", checkStopSignal},
	{"stop/descendants", "the child processes of a container stop with it", checkStopDescendants},
	{"stop/no-grace", "StopContainer with a grace period of zero kills at once", checkStopWithoutGrace},
	{"stop/again", "stopping an exited container succeeds and has no effect", checkStopExited},
	{"stop/created", "stopping a created container succeeds, and it does not run", checkStopCreated},
	{"stop/unknown", "stopping an unknown container is ErrNotFound", checkStopUnknown},
	{"stop/shorter-grace", "a second StopContainer with a shorter grace period takes effect at once", checkShorterGrace},
	{"stop/longer-grace", "a second StopContainer with a longer grace period has no effect", checkLongerGrace},
}

func checkStopByTerm(b *bench) {
	ref, _, id := b.runForeverUntilReady()
	took := b.measureDuration(func() { b.Must(b.stopContainer(id, b.h.WaitTimeout), "StopContainer") })
	c := b.containerStatus(ref, id)
	b.panicToRetryIfTrapsUnset(c.State == runtime.StateExited && c.ExitCode != 143)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 143, "after StopContainer the container is %s with exit code %d, want exited with 143 after TERM", c.State, c.ExitCode)
	b.Check(took <= b.h.Slack, "StopContainer took %s", took)
}

func checkKillAfterGrace(b *bench) {
	ref, _, id := b.runIgnoreTermUntilReady()
	const grace = 2 * time.Second
	took := b.measureDuration(func() { b.Must(b.stopContainer(id, grace), "StopContainer") })
	b.requireKilled(ref, id)
	b.Check(took > grace-grace/10 && took <= grace+b.h.Slack, "StopContainer with a grace period of %s returned after %s", grace, took)
}

func checkStopSignal(b *bench) {
	const signal = "SIGUSR1"
	ref := b.newPodToCleanUp()
	req := b.containerRequest(ref, b.runSandbox(ref, 0), "main", 0, b.h.ExitOnSignal(signal))
	req.StopSignal = signal
	id, err := b.rt.CreateContainer(b.ctx, req)
	if errors.Is(err, runtime.ErrUnsupported) {
		b.Check(len(b.podStatus(ref).Containers) == 0, "CreateContainer failed and left a record")
		return
	}
	b.Must(err, "CreateContainer")
	b.startContainer(id)
	b.Must(b.waitForTrapsOrDelay(id, b.h.scriptedExitOnSignal), "waiting for the container")
	took := b.measureDuration(func() { b.Must(b.stopContainer(id, b.h.WaitTimeout), "StopContainer") })
	c := b.containerStatus(ref, id)
	b.panicToRetryIfTrapsUnset(c.State == runtime.StateExited && c.ExitCode != 143)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 143, "the container is %s with exit code %d, want exited with 143: the runtime did not send %s", c.State, c.ExitCode, signal)
	b.Check(took <= b.h.Slack, "StopContainer took %s", took)
}

// heartbeatLine is the line that the child process of a container prints.
const heartbeatLine = "beat"

// countHeartbeats returns how often the child process of a container has shown that it is alive. If neither the
// harness nor the log can show it, it skips the case and returns false.
func (b *bench) countHeartbeats(id string) (n int, ok bool) {
	b.Helper()
	if b.h.CountHeartbeats != nil {
		n, err := b.h.CountHeartbeats(b.ctx, id)
		b.Must(err, "Harness.CountHeartbeats")
		return n, true
	}
	l, ok := logReaderOrSkip(b)
	if !ok {
		return 0, false
	}
	return strings.Count(b.readLog(l, runtime.ReadLogRequest{ContainerID: id}), heartbeatLine+"\n"), true
}

func checkStopDescendants(b *bench) {
	ref, _, id := b.runContainer(b.h.Descendant)
	if _, ok := b.countHeartbeats(id); !ok {
		return
	}
	b.waitFor("the child process shows that it is alive", func() bool { n, _ := b.countHeartbeats(id); return n > 0 })
	b.Must(b.stopContainer(id, b.h.WaitTimeout), "StopContainer")
	b.Check(b.containerStatus(ref, id).State == runtime.StateExited, "the container is not exited after StopContainer")
	before, _ := b.countHeartbeats(id)
	b.sleep(3 * time.Second)
	after, _ := b.countHeartbeats(id)
	b.Check(before == after, "the child process runs after StopContainer: its heartbeats rose from %d to %d", before, after)
}

func checkStopWithoutGrace(b *bench) {
	ref, _, id := b.runContainer(b.h.IgnoreTerm)
	took := b.measureDuration(func() { b.Must(b.stopContainer(id, 0), "StopContainer") })
	b.requireKilled(ref, id)
	b.Check(took <= b.h.Slack, "StopContainer took %s", took)
}

func checkStopExited(b *bench) {
	ref, _, id := b.runContainer(b.h.Exit(0, 5))
	before := b.waitForExit(ref, id)
	for range 2 {
		b.Must(b.stopContainer(id, time.Second), "StopContainer")
	}
	after := b.containerStatus(ref, id)
	b.Check(after.ExitCode == 5 && after.FinishedAt.Equal(before.FinishedAt), "the call changed the record of an exited container: %+v", after)
}

func checkStopCreated(b *bench) {
	ref := b.newPodToCleanUp()
	id := b.createContainer(ref, b.runSandbox(ref, 0), "main", 0, b.h.Forever)
	b.Must(b.stopContainer(id, time.Second), "StopContainer")
	b.Check(b.containerStatus(ref, id).State != runtime.StateRunning, "a created container runs after StopContainer")
}

func checkStopUnknown(b *bench) {
	b.requireErrorIs(b.stopContainer(b.name+"-no-such-container", time.Second), runtime.ErrNotFound, "StopContainer")
}

func checkShorterGrace(b *bench) {
	ref, _, id := b.runIgnoreTermUntilReady()
	first := b.stopInBackgroundAndWaitBriefly(id, time.Hour)
	took := b.measureDuration(func() { b.Must(b.stopContainer(id, time.Second), "the second StopContainer") })
	b.requireKilled(ref, id)
	b.Check(took <= time.Second+b.h.Slack, "the second StopContainer with a grace period of 1s returned after %s", took)
	b.waitFor("the first StopContainer returns", first.Opened)
	b.Must(first.err, "the first StopContainer")
}

func checkLongerGrace(b *bench) {
	ref, _, id := b.runIgnoreTermUntilReady()
	const grace = 4 * time.Second
	var first *pendingStop
	took := b.measureDuration(func() {
		first = b.stopInBackgroundAndWaitBriefly(id, grace)
		b.Must(b.stopContainer(id, time.Hour), "the second StopContainer")
	})
	b.requireKilled(ref, id)
	b.Check(took > grace-grace/10 && took <= grace+b.h.Slack, "the first StopContainer had a grace period of %s, but both calls returned after %s", grace, took)
	b.waitFor("the first StopContainer returns", first.Opened)
	b.Must(first.err, "the first StopContainer")
}

// measureDuration calls f and returns how long f takes.
func (b *bench) measureDuration(f func()) time.Duration {
	began := b.executor.Now()
	f()
	return b.executor.Now().Sub(began)
}

// requireKilled fails the case unless a container with the command Harness.IgnoreTerm has exited with code 137.
// If the container may have had no signal traps yet, it panics instead, so that the case runs again.
func (b *bench) requireKilled(ref runtime.PodRef, id string) {
	b.Helper()
	c := b.containerStatus(ref, id)
	b.panicToRetryIfTrapsUnset(c.State == runtime.StateExited && c.ExitCode != 137)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 137, "the container is %s with exit code %d, want exited with 137", c.State, c.ExitCode)
}
