package runtimetest

import (
	"github.com/podkeel/podkeel/runtime"
)

var sandboxCases = []Case{
	{"sandbox/run", "a new sandbox is ready and has a unique ID", checkRunSandbox},
	{"sandbox/exists", "a second sandbox with the same attempt is ErrExists and has no effect", checkRunSandboxTwice},
	{"sandbox/next-attempt", "the next attempt of a sandbox leaves the record of the old one unchanged", checkNextSandboxAttempt},
	{"sandbox/address", "a pod has an IP unless it uses the host network", checkSandboxAddress},
	{"sandbox/stop", "StopSandbox kills all containers and keeps the records", checkStopSandbox},
	{"sandbox/stop-again", "a stopped sandbox can be stopped again", checkStopSandboxTwice},
	{"sandbox/stop-unknown", "stopping an unknown sandbox is ErrNotFound", checkStopUnknownSandbox},
	{"sandbox/stopped-starts-nothing", "no container can be created or started in a stopped sandbox", checkStoppedSandboxStartsNothing},
	{"sandbox/remove", "RemoveSandbox stops the sandbox and removes its record and the records of its containers", checkRemoveSandbox},
	{"sandbox/remove-one", "RemoveSandbox does not change other sandboxes of the pod", checkRemoveOneSandbox},
	{"sandbox/remove-unknown", "removing an unknown sandbox succeeds", checkRemoveUnknownSandbox},
	{"sandbox/attempt-is-free", "the attempt of a removed sandbox can be used again", checkSandboxAttemptReuse},
}

func checkRunSandbox(b *bench) {
	one, two := b.newPodToCleanUp(), b.newPodToCleanUp()
	x, y := b.runSandbox(one, 0), b.runSandbox(two, 0)
	b.Check(x != "" && y != "" && x != y, "the IDs %q and %q must be different and not empty", x, y)
	b.Check(b.sandboxStatus(one, x).Ready && b.sandboxStatus(two, y).Ready, "a new sandbox is not ready")
}

func checkRunSandboxTwice(b *bench) {
	ref := b.newPodToCleanUp()
	id := b.runSandbox(ref, 0)
	before := b.sandboxStatus(ref, id)
	_, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	b.requireErrorIs(err, runtime.ErrExists, "RunSandbox of the same attempt")
	after := b.sandboxStatus(ref, id)
	b.Check(len(b.podStatus(ref).Sandboxes) == 1, "the pod has %d sandboxes, want 1", len(b.podStatus(ref).Sandboxes))
	b.Check(after.Ready && after.CreatedAt.Equal(before.CreatedAt), "the second request changed the first record: %+v", after)
	b.Must(b.stopSandbox(id), "StopSandbox")
	_, err = b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	b.requireErrorIs(err, runtime.ErrExists, "RunSandbox of the same attempt after StopSandbox")
}

func checkNextSandboxAttempt(b *bench) {
	ref := b.newPodToCleanUp()
	old := b.runSandbox(ref, 0)
	b.Must(b.stopSandbox(old), "StopSandbox")
	next := b.runSandbox(ref, 1)
	b.Check(old != next, "both attempts have the ID %s", old)
	b.Check(!b.sandboxStatus(ref, old).Ready && b.sandboxStatus(ref, next).Ready, "the stopped sandbox must be not ready and the new one ready")
}

func checkSandboxAddress(b *bench) {
	inside, onHost := b.newPodToCleanUp(), b.newPodToCleanUp()
	s := b.sandboxStatus(inside, b.runSandbox(inside, 0))
	b.Check(len(s.IPs) > 0 && !s.HostNetwork, "a pod on the pod network has the IPs %v and HostNetwork %v, want at least one IP and false; a runtime without a pod network returns 127.0.0.1, see SandboxStatus.IPs", s.IPs, s.HostNetwork)
	req := b.sandboxRequest(onHost, 0)
	req.Namespaces.HostNetwork = true
	id, err := b.rt.RunSandbox(b.ctx, req)
	b.Must(err, "RunSandbox on the host network")
	s = b.sandboxStatus(onHost, id)
	b.Check(len(s.IPs) == 0 && s.HostNetwork, "a pod on the host network has the IPs %v and HostNetwork %v, want no IPs and true", s.IPs, s.HostNetwork)
}

func checkStopSandbox(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.IgnoreTerm)
	second := b.createContainer(ref, sandbox, "second", 0, b.h.Forever)
	b.startContainer(second)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.Check(!b.sandboxStatus(ref, sandbox).Ready, "the sandbox is ready after StopSandbox")
	for _, id := range []string{id, second} {
		c := b.containerStatus(ref, id)
		b.Check(c.State == runtime.StateExited, "after StopSandbox container %s is %s, want exited", c.Name, c.State)
		b.Check(!c.FinishedAt.IsZero(), "after StopSandbox container %s has no FinishedAt", c.Name)
	}
	b.Check(b.containerStatus(ref, id).ExitCode == 137, "a killed container has ExitCode %d, want 137", b.containerStatus(ref, id).ExitCode)
}

func checkStopSandboxTwice(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.Forever)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	before := b.containerStatus(ref, id)
	b.Must(b.stopSandbox(sandbox), "StopSandbox again")
	after := b.containerStatus(ref, id)
	b.Check(after.State == before.State && after.ExitCode == before.ExitCode && after.FinishedAt.Equal(before.FinishedAt), "the second StopSandbox changed the record of its container: %+v", after)
}

func checkStopUnknownSandbox(b *bench) {
	b.requireErrorIs(b.stopSandbox(b.name+"-no-such-sandbox"), runtime.ErrNotFound, "StopSandbox")
}

func checkStoppedSandboxStartsNothing(b *bench) {
	ref := b.newPodToCleanUp()
	sandbox := b.runSandbox(ref, 0)
	id := b.createContainer(ref, sandbox, "main", 0, b.h.Forever)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	err := b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id})
	b.requireErrorIs(err, runtime.ErrWrongState, "StartContainer in a stopped sandbox")
	b.Check(b.containerStatus(ref, id).State != runtime.StateRunning, "the container runs in a stopped sandbox")
	_, err = b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "late", 0, b.h.Forever))
	b.requireErrorIs(err, runtime.ErrWrongState, "CreateContainer in a stopped sandbox")
}

func checkRemoveSandbox(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.IgnoreTerm)
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	st := b.podStatus(ref)
	b.Check(len(st.Sandboxes) == 0 && len(st.Containers) == 0, "RemoveSandbox left %d sandboxes and %d containers", len(st.Sandboxes), len(st.Containers))
	b.requireErrorIs(b.stopContainer(id, 0), runtime.ErrNotFound, "StopContainer of a container that RemoveSandbox removed")
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox again")
}

func checkRemoveOneSandbox(b *bench) {
	ref, old, _ := b.runContainer(b.h.Forever)
	b.Must(b.stopSandbox(old), "StopSandbox")
	next := b.runSandbox(ref, 1)
	id := b.createContainer(ref, next, "main", 1, b.h.Forever)
	b.startContainer(id)
	b.Must(b.removeSandbox(old), "RemoveSandbox")
	st := b.podStatus(ref)
	b.Check(len(st.Sandboxes) == 1 && st.Sandboxes[0].ID == next && st.Sandboxes[0].Ready, "RemoveSandbox must leave the other sandbox ready; the sandboxes are %+v", st.Sandboxes)
	b.Check(len(st.Containers) == 1 && st.Containers[0].ID == id && st.Containers[0].State == runtime.StateRunning, "RemoveSandbox must leave the container of the other sandbox running; the containers are %+v", st.Containers)
}

func checkRemoveUnknownSandbox(b *bench) {
	b.Must(b.removeSandbox(b.name+"-no-such-sandbox"), "RemoveSandbox")
}

func checkSandboxAttemptReuse(b *bench) {
	ref := b.newPodToCleanUp()
	old := b.runSandbox(ref, 0)
	b.Must(b.removeSandbox(old), "RemoveSandbox")
	again := b.runSandbox(ref, 0)
	b.Check(old != again, "the new sandbox has the ID of the removed one")
	b.Check(b.sandboxStatus(ref, again).Ready, "the new sandbox is not ready")
}
