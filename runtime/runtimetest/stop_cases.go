package runtimetest

import (
	"errors"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var stopCases = []Case{
	{"stop/term", "a container is asked to end first, and given no more time than it needs", stopTerm},
	{"stop/kill", "what does not end within the grace is killed, and not earlier", stopKill},
	{"stop/signal", "a container is asked to end by its StopSignal, or its creation is ErrUnsupported and leaves no record", stopSignal},
	{"stop/descendants", "what a container has started ends with it", stopDescendants},
	{"stop/no-grace", "without a grace it is killed at once", stopNoGrace},
	{"stop/again", "stopping a container that has exited is no error and does nothing", stopAgain},
	{"stop/created", "stopping a container that has not started is no error, and it does not run", stopCreated},
	{"stop/unknown", "stopping an unknown container is ErrNotFound", stopUnknown},
	{"stop/shorter-grace", "a second stop with a shorter grace takes effect at once", stopShorterGrace},
	{"stop/longer-grace", "a second stop with a longer grace changes nothing", stopLongerGrace},
}

func stopTerm(b *bench) {
	ref, _, id := b.runForever()
	took := b.timed(func() { b.Must(b.stop(id, b.h.WaitTimeout), "StopContainer") })
	c := b.container(ref, id)
	b.early(c.State == runtime.StateExited && c.ExitCode != 143)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 143, "it is %s with code %d", c.State, c.ExitCode)
	b.Check(took <= b.h.Slack, "it took %s", took)
}

func stopKill(b *bench) {
	ref, _, id := b.runDeaf()
	const grace = 2 * time.Second
	took := b.timed(func() { b.Must(b.stop(id, grace), "StopContainer") })
	b.killed(ref, id)
	b.Check(took > grace-grace/10 && took <= grace+b.h.Slack, "a grace of %s took %s", grace, took)
}

func stopSignal(b *bench) {
	const signal = "SIGUSR1"
	ref := b.pod()
	req := b.containerRequest(ref, b.sandbox(ref, 0), "main", 0, b.h.EndsBy(signal))
	req.StopSignal = signal
	id, err := b.rt.CreateContainer(b.ctx, req)
	if errors.Is(err, runtime.ErrUnsupported) {
		b.Check(len(b.status(ref).Containers) == 0, "there is a record nevertheless")
		return
	}
	b.Must(err, "CreateContainer")
	b.start(id)
	b.Must(b.awaitReady(id, b.h.scriptedEndsBy), "waiting for the container")
	took := b.timed(func() { b.Must(b.stop(id, b.h.WaitTimeout), "StopContainer") })
	c := b.container(ref, id)
	b.early(c.State == runtime.StateExited && c.ExitCode != 143)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 143, "it is %s with code %d: %s did not come", c.State, c.ExitCode, signal)
	b.Check(took <= b.h.Slack, "it took %s", took)
}

// beatLine is what a process prints that a container has started.
const beatLine = "beat"

// beats is how often the process that a container has started has shown that it lives; false if
// nothing can tell.
func (b *bench) beats(id string) (n int, ok bool) {
	b.Helper()
	if b.h.Beats != nil {
		n, err := b.h.Beats(b.ctx, id)
		b.Must(err, "Harness.Beats")
		return n, true
	}
	l, ok := logReader(b)
	if !ok {
		return 0, false
	}
	return strings.Count(b.log(l, runtime.ReadLogRequest{ContainerID: id}), beatLine+"\n"), true
}

func stopDescendants(b *bench) {
	ref, _, id := b.run(b.h.Descendant)
	if _, ok := b.beats(id); !ok {
		return
	}
	b.until("the process that the container has started shows that it lives", func() bool { n, _ := b.beats(id); return n > 0 })
	b.Must(b.stop(id, b.h.WaitTimeout), "StopContainer")
	b.Check(b.container(ref, id).State == runtime.StateExited, "it does not end")
	before, _ := b.beats(id)
	b.sleep(3 * time.Second)
	after, _ := b.beats(id)
	b.Check(before == after, "the process that it has started lives on: it has shown so %d times, and then %d", before, after)
}

func stopNoGrace(b *bench) {
	ref, _, id := b.run(b.h.IgnoreTerm)
	took := b.timed(func() { b.Must(b.stop(id, 0), "StopContainer") })
	b.killed(ref, id)
	b.Check(took <= b.h.Slack, "it took %s", took)
}

func stopAgain(b *bench) {
	ref, _, id := b.run(b.h.Exit(0, 5))
	before := b.exited(ref, id)
	for range 2 {
		b.Must(b.stop(id, time.Second), "StopContainer")
	}
	after := b.container(ref, id)
	b.Check(after.ExitCode == 5 && after.FinishedAt.Equal(before.FinishedAt), "its end has changed: %+v", after)
}

func stopCreated(b *bench) {
	ref := b.pod()
	id := b.create(ref, b.sandbox(ref, 0), "main", 0, b.h.Forever)
	b.Must(b.stop(id, time.Second), "StopContainer")
	b.Check(b.container(ref, id).State != runtime.StateRunning, "it runs")
}

func stopUnknown(b *bench) {
	b.is(b.stop(b.name+"-no-such-container", time.Second), runtime.ErrNotFound, "StopContainer")
}

func stopShorterGrace(b *bench) {
	ref, _, id := b.runDeaf()
	first := b.stopping(id, time.Hour)
	took := b.timed(func() { b.Must(b.stop(id, time.Second), "the second StopContainer") })
	b.killed(ref, id)
	b.Check(took <= time.Second+b.h.Slack, "a grace of one second took %s", took)
	b.until("the first StopContainer returns", first.Opened)
	b.Must(first.err, "the first StopContainer")
}

func stopLongerGrace(b *bench) {
	ref, _, id := b.runDeaf()
	const grace = 4 * time.Second
	var first *stopping
	took := b.timed(func() {
		first = b.stopping(id, grace)
		b.Must(b.stop(id, time.Hour), "the second StopContainer")
	})
	b.killed(ref, id)
	b.Check(took > grace-grace/10 && took <= grace+b.h.Slack, "the first grace was %s, both took %s", grace, took)
	b.until("the first StopContainer returns", first.Opened)
	b.Must(first.err, "the first StopContainer")
}

// timed is how long f takes.
func (b *bench) timed(f func()) time.Duration {
	began := b.executor.Now()
	f()
	return b.executor.Now().Sub(began)
}

// killed checks that a container that runs IgnoreTerm was.
func (b *bench) killed(ref runtime.PodRef, id string) {
	b.Helper()
	c := b.container(ref, id)
	b.early(c.State == runtime.StateExited && c.ExitCode != 137)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 137, "it is %s with code %d", c.State, c.ExitCode)
}
