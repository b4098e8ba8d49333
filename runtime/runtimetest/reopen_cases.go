package runtimetest

import (
	"reflect"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var reopenCases = []Case{
	{"reopen/records", "records outlive the agent, as they were: states, attempts, incarnations, annotations, times, codes", reopenRecords},
	{"reopen/running", "what runs outlives the agent, and its next one can stop it", reopenRunning},
	{"reopen/exit", "a container that ends while no agent is there keeps its code and its times", reopenExit},
	{"reopen/attempts", "an attempt that was taken before the agent ended is taken after it", reopenAttempts},
	{"reopen/removed", "what was removed before the agent ended does not come back", reopenRemoved},
	{"reopen/log", "the log of a container outlives the agent", reopenLog},
}

// reopens reports whether there is a way to end the agent, or skips the case.
func (b *bench) reopens() bool {
	if b.h.Reopen == nil {
		b.Skipf("the harness does not say how the agent is ended")
		return false
	}
	return true
}

// restart ends the agent and starts another, which the case goes on with.
func (b *bench) restart(meanwhile func()) {
	b.Helper()
	called := false
	rt, err := b.h.Reopen(func() {
		called = true
		meanwhile()
	})
	b.Must(err, "Harness.Reopen")
	b.Check(rt != nil, "Harness.Reopen returned no runtime")
	b.Check(called, "Harness.Reopen did not call its argument while no agent was there")
	b.rt.inner = rt
}

func atOnce() {}

// full is a pod with a record of every kind: a stopped sandbox, a sandbox that
// is ready, and a container in each state.
func (b *bench) full() runtime.PodRef {
	b.Helper()
	ref, old, _ := b.run(b.h.Forever)
	b.Must(b.stopSandbox(old), "StopSandbox")
	sandbox := b.sandbox(ref, 1)
	b.create(ref, sandbox, "created", 0, b.h.Forever)
	b.start(b.create(ref, sandbox, "main", 2, b.h.Forever))
	exited := b.create(ref, sandbox, "exited", 3, b.h.Exit(0, 9))
	b.start(exited)
	b.exited(ref, exited)
	return ref
}

func reopenRecords(b *bench) {
	if !b.reopens() {
		return
	}
	ref := b.full()
	before := b.status(ref)
	was := *before
	was.Sandboxes, was.Containers = slices.Clone(before.Sandboxes), slices.Clone(before.Containers)
	b.restart(atOnce)
	b.Check(reflect.DeepEqual(was, *b.status(ref)), "the status was %+v and is %+v", was, *b.status(ref))
	b.until("the list shows two sandboxes and four containers", func() bool {
		p, _ := b.listed(ref)
		return p.Name == ref.Name && p.Namespace == ref.Namespace && len(p.Sandboxes) == 2 && len(p.Containers) == 4
	})
}

func reopenRunning(b *bench) {
	if !b.reopens() {
		return
	}
	ref, sandbox, id := b.runForever()
	before := b.container(ref, id)
	b.restart(func() { b.sleep(time.Second) })
	after := b.container(ref, id)
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "it started %s, and is %s and started %s", before.StartedAt, after.State, after.StartedAt)
	b.Check(b.place(ref, sandbox).Ready, "its sandbox is not ready any more")
	b.Must(b.stop(id, b.h.WaitTimeout), "StopContainer")
	c := b.container(ref, id)
	b.early(c.State == runtime.StateExited && c.ExitCode != 143)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 143, "after a stop it is %s with code %d", c.State, c.ExitCode)
}

func reopenExit(b *bench) {
	if !b.reopens() {
		return
	}
	const runs = 3 * time.Second
	ref, _, id := b.run(b.h.Exit(runs, 9))
	began := b.container(ref, id).StartedAt
	b.restart(func() { b.sleep(2 * runs) })
	c := b.exited(ref, id)
	b.Check(c.ExitCode == 9, "exit 9 is recorded as %d", c.ExitCode)
	b.Check(c.StartedAt.Equal(began), "it started %s, and then %s", began, c.StartedAt)
	ran := c.FinishedAt.Sub(c.StartedAt)
	b.Check(ran > runs/2 && ran < runs+b.h.Slack, "what runs %s ran %s by the record", runs, ran)
}

func reopenAttempts(b *bench) {
	if !b.reopens() {
		return
	}
	ref, sandbox, _ := b.run(b.h.Forever)
	b.restart(atOnce)
	_, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	b.is(err, runtime.ErrExists, "RunSandbox of the same attempt")
	_, err = b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "main", 0, b.h.Forever))
	b.is(err, runtime.ErrExists, "CreateContainer of the same attempt")
	st := b.status(ref)
	b.Check(len(st.Sandboxes) == 1 && len(st.Containers) == 1, "there are %d sandboxes and %d containers", len(st.Sandboxes), len(st.Containers))
	next := b.create(ref, sandbox, "main", 1, b.h.Forever)
	b.start(next)
	b.Check(b.container(ref, next).State == runtime.StateRunning, "the next attempt does not run")
}

func reopenRemoved(b *bench) {
	if !b.reopens() {
		return
	}
	ref, sandbox, id := b.run(b.h.Exit(0, 0))
	b.exited(ref, id)
	b.Must(b.remove(id), "RemoveContainer")
	gone, other, _ := b.run(b.h.Forever)
	b.Must(b.removeSandbox(other), "RemoveSandbox")
	b.restart(atOnce)
	b.Check(len(b.status(ref).Containers) == 0 && b.place(ref, sandbox).Ready, "the container is back, or its sandbox gone: %+v", b.status(ref))
	b.Check(len(b.status(gone).Sandboxes) == 0, "the sandbox is back")
	b.until("the pod is not listed", func() bool { _, ok := b.listed(gone); return !ok })
}

func reopenLog(b *bench) {
	if !b.reopens() {
		return
	}
	if _, ok := logReader(b); !ok {
		return
	}
	ref, _, id := b.run(b.h.Print(printed, 3))
	b.restart(func() { b.sleep(time.Second) })
	b.exited(ref, id)
	l, ok := logReader(b)
	if !ok {
		return
	}
	got := b.log(l, runtime.ReadLogRequest{ContainerID: id})
	b.Check(got == printedText, "it printed %q, the log is %q", printedText, got)
}
