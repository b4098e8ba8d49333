package runtimetest

import (
	"github.com/podkeel/podkeel/runtime"
)

var sandboxCases = []Case{
	{"sandbox/run", "a new sandbox is ready, and its ID its own", sandboxRun},
	{"sandbox/exists", "a second sandbox of an attempt is ErrExists and without effect", sandboxExists},
	{"sandbox/next-attempt", "a next attempt stands beside the old one", sandboxNextAttempt},
	{"sandbox/address", "a pod has an address unless it uses the host's network", sandboxAddress},
	{"sandbox/stop", "StopSandbox kills what runs, and the records stay", sandboxStop},
	{"sandbox/stop-again", "a stopped sandbox can be stopped again", sandboxStopAgain},
	{"sandbox/stop-unknown", "stopping an unknown sandbox is ErrNotFound", sandboxStopUnknown},
	{"sandbox/stopped-starts-nothing", "nothing starts in a stopped sandbox", sandboxStoppedStartsNothing},
	{"sandbox/remove", "RemoveSandbox stops it and drops its records and those of its containers", sandboxRemove},
	{"sandbox/remove-one", "RemoveSandbox leaves the pod's other sandboxes alone", sandboxRemoveOne},
	{"sandbox/remove-unknown", "removing an unknown sandbox is no error", sandboxRemoveUnknown},
	{"sandbox/attempt-is-free", "the attempt of a removed sandbox can be used again", sandboxAttemptIsFree},
}

func sandboxRun(b *bench) {
	one, two := b.pod(), b.pod()
	x, y := b.sandbox(one, 0), b.sandbox(two, 0)
	b.Check(x != "" && y != "" && x != y, "the IDs are %q and %q", x, y)
	b.Check(b.place(one, x).Ready && b.place(two, y).Ready, "a new sandbox is not ready")
}

func sandboxExists(b *bench) {
	ref := b.pod()
	id := b.sandbox(ref, 0)
	before := b.place(ref, id)
	_, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	b.is(err, runtime.ErrExists, "RunSandbox of the same attempt")
	after := b.place(ref, id)
	b.Check(len(b.status(ref).Sandboxes) == 1, "there are two")
	b.Check(after.Ready && after.CreatedAt.Equal(before.CreatedAt), "the first was touched")
	b.Must(b.stopSandbox(id), "StopSandbox")
	_, err = b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	b.is(err, runtime.ErrExists, "RunSandbox of the same attempt, which is stopped")
}

func sandboxNextAttempt(b *bench) {
	ref := b.pod()
	old := b.sandbox(ref, 0)
	b.Must(b.stopSandbox(old), "StopSandbox")
	next := b.sandbox(ref, 1)
	b.Check(old != next, "both have the ID %s", old)
	b.Check(!b.place(ref, old).Ready && b.place(ref, next).Ready, "the wrong one is ready")
}

func sandboxAddress(b *bench) {
	inside, onHost := b.pod(), b.pod()
	s := b.place(inside, b.sandbox(inside, 0))
	b.Check(len(s.IPs) > 0 && !s.HostNetwork, "a pod of the pod network has the addresses %v, host network is %v; a runtime without a network answers 127.0.0.1, see SandboxStatus.IPs", s.IPs, s.HostNetwork)
	req := b.sandboxRequest(onHost, 0)
	req.Namespaces.HostNetwork = true
	id, err := b.rt.RunSandbox(b.ctx, req)
	b.Must(err, "RunSandbox on the host's network")
	s = b.place(onHost, id)
	b.Check(len(s.IPs) == 0 && s.HostNetwork, "a pod of the host's network has the addresses %v, host network is %v", s.IPs, s.HostNetwork)
}

func sandboxStop(b *bench) {
	ref, sandbox, id := b.run(b.h.IgnoreTerm)
	second := b.create(ref, sandbox, "second", 0, b.h.Forever)
	b.start(second)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.Check(!b.place(ref, sandbox).Ready, "the sandbox is ready")
	for _, id := range []string{id, second} {
		c := b.container(ref, id)
		b.Check(c.State == runtime.StateExited, "container %s is %s", c.Name, c.State)
		b.Check(!c.FinishedAt.IsZero(), "container %s has no end", c.Name)
	}
	b.Check(b.container(ref, id).ExitCode == 137, "what was killed has exited with %d", b.container(ref, id).ExitCode)
}

func sandboxStopAgain(b *bench) {
	ref, sandbox, id := b.run(b.h.Forever)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	before := b.container(ref, id)
	b.Must(b.stopSandbox(sandbox), "StopSandbox again")
	after := b.container(ref, id)
	b.Check(after.State == before.State && after.ExitCode == before.ExitCode && after.FinishedAt.Equal(before.FinishedAt), "its container ended again: %+v", after)
}

func sandboxStopUnknown(b *bench) {
	b.is(b.stopSandbox(b.name+"-no-such-sandbox"), runtime.ErrNotFound, "StopSandbox")
}

func sandboxStoppedStartsNothing(b *bench) {
	ref := b.pod()
	sandbox := b.sandbox(ref, 0)
	id := b.create(ref, sandbox, "main", 0, b.h.Forever)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	err := b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id})
	b.is(err, runtime.ErrWrongState, "StartContainer in a stopped sandbox")
	b.Check(b.container(ref, id).State != runtime.StateRunning, "the container runs in a stopped sandbox")
	_, err = b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "late", 0, b.h.Forever))
	b.is(err, runtime.ErrWrongState, "CreateContainer in a stopped sandbox")
}

func sandboxRemove(b *bench) {
	ref, sandbox, id := b.run(b.h.IgnoreTerm)
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	st := b.status(ref)
	b.Check(len(st.Sandboxes) == 0 && len(st.Containers) == 0, "%d sandboxes and %d containers are left", len(st.Sandboxes), len(st.Containers))
	b.is(b.stop(id, 0), runtime.ErrNotFound, "StopContainer of what went with its sandbox")
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox again")
}

func sandboxRemoveOne(b *bench) {
	ref, old, _ := b.run(b.h.Forever)
	b.Must(b.stopSandbox(old), "StopSandbox")
	next := b.sandbox(ref, 1)
	id := b.create(ref, next, "main", 1, b.h.Forever)
	b.start(id)
	b.Must(b.removeSandbox(old), "RemoveSandbox")
	st := b.status(ref)
	b.Check(len(st.Sandboxes) == 1 && st.Sandboxes[0].ID == next && st.Sandboxes[0].Ready, "the sandboxes left are %+v", st.Sandboxes)
	b.Check(len(st.Containers) == 1 && st.Containers[0].ID == id && st.Containers[0].State == runtime.StateRunning, "the containers left are %+v", st.Containers)
}

func sandboxRemoveUnknown(b *bench) {
	b.Must(b.removeSandbox(b.name+"-no-such-sandbox"), "RemoveSandbox")
}

func sandboxAttemptIsFree(b *bench) {
	ref := b.pod()
	old := b.sandbox(ref, 0)
	b.Must(b.removeSandbox(old), "RemoveSandbox")
	again := b.sandbox(ref, 0)
	b.Check(old != again, "a new sandbox has the ID of the old one")
	b.Check(b.place(ref, again).Ready, "the new sandbox is not ready")
}
