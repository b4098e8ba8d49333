package runtimetest

import (
	"errors"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var containerCases = []Case{
	{"container/create", "a new container does not run", checkCreate},
	{"container/exists", "a second container with the same name and attempt is ErrExists and has no effect", checkCreateTwice},
	{"container/no-sandbox", "a container in an unknown sandbox is ErrNotFound", checkCreateInUnknownSandbox},
	{"container/no-image", "a container of an unknown image is ErrNotFound", checkCreateWithMissingImage},
	{"container/image-ref", "CreateContainer uses ImageRef, whatever Image is", checkImageRefIsUsed},
	{"container/pid-target", "a container with a PIDTarget runs, or CreateContainer is ErrUnsupported and leaves no record", checkPIDTarget},
	{"container/start", "a started container runs", checkStart},
	{"container/start-again", "starting a running container succeeds and has no effect", checkStartTwice},
	{"container/start-exited", "starting a container that has exited is ErrWrongState", checkStartExited},
	{"container/start-unknown", "starting an unknown container is ErrNotFound", checkStartUnknown},
	{"container/exit", "an exited container keeps its exit code", checkExitCode},
	{"container/times", "an exited container keeps its times", checkExitTimes},
	{"container/exit-reason", "the Reason of an exited container is Completed for exit code 0, another word for any other code, or empty", checkExitReason},
	{"container/env", "a container has the environment of its request", checkEnv},
	{"container/working-dir", "a container starts in the working directory of its request", checkWorkingDir},
	{"container/user", "a container that reports its User has the user, the group and the supplemental groups of its request, in each state", checkUser},
	{"container/next-attempt", "the next attempt of a container leaves the record of the old one unchanged", checkNextAttempt},
	{"container/remove", "the record of a container that does not run can be removed", checkRemove},
	{"container/remove-running", "removing a running container is ErrWrongState and has no effect", checkRemoveRunning},
	{"container/remove-never-ran", "RemoveContainer with NeverRan of a container that has run is ErrWrongState and has no effect", checkRemoveNeverRan},
	{"container/remove-unknown", "removing an unknown container succeeds", checkRemoveUnknown},
	{"container/attempt-is-free", "the attempt of a removed container can be used again", checkAttemptReuse},
}

func checkCreate(b *bench) {
	ref := b.newPodToCleanUp()
	sandbox := b.runSandbox(ref, 0)
	one := b.createContainer(ref, sandbox, "one", 0, b.h.Forever)
	two := b.createContainer(ref, sandbox, "two", 0, b.h.Forever)
	b.Check(one != "" && two != "" && one != two, "the IDs %q and %q must be different and not empty", one, two)
	for _, id := range []string{one, two} {
		c := b.containerStatus(ref, id)
		b.Check(c.State == runtime.StateCreated, "a new container is %s, want created", c.State)
		b.Check(!c.CreatedAt.IsZero() && c.StartedAt.IsZero() && c.FinishedAt.IsZero(), "a new container needs a CreatedAt, no StartedAt and no FinishedAt; they are %s, %s, %s", c.CreatedAt, c.StartedAt, c.FinishedAt)
	}
}

func checkCreateTwice(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.Forever)
	before := b.containerStatus(ref, id)
	_, err := b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "main", 0, b.h.Forever))
	b.requireErrorIs(err, runtime.ErrExists, "CreateContainer of the same attempt")
	after := b.containerStatus(ref, id)
	b.Check(len(b.podStatus(ref).Containers) == 1, "the pod has %d containers, want 1", len(b.podStatus(ref).Containers))
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "the second request changed the first record: %+v", after)
	b.Must(b.stopContainer(id, 0), "StopContainer")
	_, err = b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "main", 0, b.h.Forever))
	b.requireErrorIs(err, runtime.ErrExists, "CreateContainer of the same attempt after its exit")
}

func checkCreateInUnknownSandbox(b *bench) {
	ref := b.newPodToCleanUp()
	_, err := b.rt.CreateContainer(b.ctx, b.containerRequest(ref, b.name+"-no-such-sandbox", "main", 0, b.h.Forever))
	b.requireErrorIs(err, runtime.ErrNotFound, "CreateContainer")
}

func checkCreateWithMissingImage(b *bench) {
	ref := b.newPodToCleanUp()
	req := b.containerRequest(ref, b.runSandbox(ref, 0), "main", 0, b.h.Forever)
	req.Image, req.ImageRef = b.h.MissingImage, b.h.MissingImage
	_, err := b.rt.CreateContainer(b.ctx, req)
	b.requireErrorIs(err, runtime.ErrNotFound, "CreateContainer")
	b.Check(len(b.podStatus(ref).Containers) == 0, "CreateContainer failed and left a record")
}

func checkImageRefIsUsed(b *bench) {
	ref := b.newPodToCleanUp()
	req := b.containerRequest(ref, b.runSandbox(ref, 0), "main", 0, b.h.Forever)
	req.Image = "runtimetest.podkeel.dev/a-name-of-the-spec" // Like the spec's name nginx for the pulled image nginx:latest.
	id, err := b.rt.CreateContainer(b.ctx, req)
	b.Must(err, "CreateContainer with another Image")
	b.startContainer(id)
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container is %s, want running", b.containerStatus(ref, id).State)
}

func checkPIDTarget(b *bench) {
	ref, sandbox, target := b.runContainer(b.h.Forever)
	req := b.containerRequest(ref, sandbox, "debugger", 0, b.h.Forever)
	req.PIDTarget = target
	id, err := b.rt.CreateContainer(b.ctx, req)
	if errors.Is(err, runtime.ErrUnsupported) {
		b.Check(len(b.podStatus(ref).Containers) == 1, "CreateContainer failed and left a record")
		return
	}
	b.Must(err, "CreateContainer")
	b.Must(b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id}), "StartContainer")
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container is %s, want running", b.containerStatus(ref, id).State)
	b.Must(b.stopContainer(id, 0), "StopContainer")
	b.Check(b.containerStatus(ref, target).State == runtime.StateRunning, "the target container stopped when the other container was stopped")
}

func checkStart(b *bench) {
	ref, _, id := b.runContainer(b.h.Forever)
	c := b.containerStatus(ref, id)
	b.Check(c.State == runtime.StateRunning, "a started container is %s, want running", c.State)
	b.Check(!c.StartedAt.IsZero() && c.FinishedAt.IsZero(), "a running container needs a StartedAt and no FinishedAt; they are %s and %s", c.StartedAt, c.FinishedAt)
	b.sleep(2 * time.Second)
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container did not keep running for 2s")
}

func checkStartTwice(b *bench) {
	ref, _, id := b.runContainer(b.h.Forever)
	before := b.containerStatus(ref, id)
	b.sleep(100 * time.Millisecond)
	b.startContainer(id)
	after := b.containerStatus(ref, id)
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "the second StartContainer restarted the container: %+v", after)
}

func checkStartExited(b *bench) {
	ref, _, id := b.runContainer(b.h.Exit(0, 3))
	before := b.waitForExit(ref, id)
	err := b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id})
	b.requireErrorIs(err, runtime.ErrWrongState, "StartContainer")
	after := b.containerStatus(ref, id)
	b.Check(after.State == runtime.StateExited && after.ExitCode == 3 && after.FinishedAt.Equal(before.FinishedAt), "the call changed the record of an exited container: %+v", after)
}

func checkStartUnknown(b *bench) {
	err := b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: b.name + "-no-such-container"})
	b.requireErrorIs(err, runtime.ErrNotFound, "StartContainer")
}

func checkExitCode(b *bench) {
	for _, code := range []int{0, 1, 42} {
		ref, _, id := b.runContainer(b.h.Exit(0, code))
		c := b.waitForExit(ref, id)
		b.Check(c.ExitCode == int32(code), "a container that exited with %d has ExitCode %d", code, c.ExitCode)
		b.Check(b.sandboxStatus(ref, c.SandboxID).Ready, "the sandbox is not ready after its container has exited")
	}
}

func checkExitReason(b *bench) {
	const completed = "Completed"
	for _, code := range []int{0, 3} {
		ref, _, id := b.runContainer(b.h.Exit(0, code))
		reason := b.waitForExit(ref, id).Reason
		b.Check(reason == "" || (reason == completed) == (code == 0), "a container that exited with %d has the Reason %q, want %q for code 0 and any other word for other codes, or none", code, reason, completed)
	}
	ref, _, id := b.runContainer(b.h.Forever)
	b.Must(b.stopContainer(id, 0), "StopContainer")
	c := b.containerStatus(ref, id)
	b.Check(c.ExitCode != 0 && c.Reason != completed, "a killed container has ExitCode %d and Reason %q, want a code other than 0 and a reason other than Completed", c.ExitCode, c.Reason)
}

// runChangedContainerToExit creates a container with the request as modified by change, starts it and waits
// until it has exited. It returns the status.
func (b *bench) runChangedContainerToExit(command []string, change func(*runtime.CreateContainerRequest)) runtime.ContainerStatus {
	b.Helper()
	ref := b.newPodToCleanUp()
	req := b.containerRequest(ref, b.runSandbox(ref, 0), "main", 0, command)
	change(&req)
	id, err := b.rt.CreateContainer(b.ctx, req)
	b.Must(err, "CreateContainer")
	b.startContainer(id)
	return b.waitForExit(ref, id)
}

func checkEnv(b *bench) {
	const name, value = "RUNTIMETEST", "one two"
	c := b.runChangedContainerToExit(b.h.CheckEnv(name, value), func(req *runtime.CreateContainerRequest) {
		req.Env = []runtime.EnvVar{{Name: "RUNTIMETEST_OTHER", Value: "x"}, {Name: name, Value: value}}
	})
	b.Check(c.ExitCode == 0, "the environment lacks %s=%q: the command that checks it exited with %d", name, value, c.ExitCode)
}

func checkWorkingDir(b *bench) {
	const dir = "/tmp"
	c := b.runChangedContainerToExit(b.h.CheckWorkingDir(dir), func(req *runtime.CreateContainerRequest) { req.WorkingDir = dir })
	b.Check(c.ExitCode == 0, "the working directory is not %s: the command that checks it exited with %d", dir, c.ExitCode)
}

func checkExitTimes(b *bench) {
	ref, _, id := b.runContainer(b.h.Exit(2*time.Second, 0))
	c := b.waitForExit(ref, id)
	b.Check(!c.CreatedAt.IsZero() && !c.StartedAt.Before(c.CreatedAt), "CreatedAt is %s and StartedAt %s, want both set and in this order", c.CreatedAt, c.StartedAt)
	ran := c.FinishedAt.Sub(c.StartedAt)
	b.Check(ran > time.Second && ran < 2*time.Second+b.h.Slack, "the command runs 2s, but FinishedAt is %s after StartedAt", ran)
	b.sleep(time.Second)
	later := b.containerStatus(ref, id)
	b.Check(later.StartedAt.Equal(c.StartedAt) && later.FinishedAt.Equal(c.FinishedAt), "StartedAt or FinishedAt changed after the exit")
}

func checkUser(b *bench) {
	ref := b.newPodToCleanUp()
	req := b.containerRequest(ref, b.runSandbox(ref, 0), "main", 0, b.h.Forever)
	req.Security = runtime.Security{User: new(int64(1234)), Group: new(int64(2345)), SupplementalGroups: []int64{4567, 3456}}
	id, err := b.rt.CreateContainer(b.ctx, req)
	if errors.Is(err, runtime.ErrUnsupported) {
		b.Skipf("the runtime runs no container as another user: %v", err)
		return
	}
	b.Must(err, "CreateContainer")
	user := b.containerStatus(ref, id).User
	if user == nil {
		b.Skipf("the runtime reports no user")
		return
	}
	b.Check(user.UID == 1234 && user.GID == 2345, "User has the UID %d and the GID %d, want 1234 and 2345", user.UID, user.GID)
	for _, group := range req.Security.SupplementalGroups {
		b.Check(slices.Contains(user.SupplementalGroups, group), "SupplementalGroups of User lack the group %d; they are %d", group, user.SupplementalGroups)
	}
	b.startContainer(id)
	running := b.containerStatus(ref, id).User
	b.Check(user.Equal(running), "User must stay; it changed from %+v to %+v when the container started", user, running)
	b.Must(b.stopContainer(id, 0), "StopContainer")
	b.waitForExit(ref, id)
	exited := b.containerStatus(ref, id).User
	b.Check(user.Equal(exited), "User must stay; it changed from %+v to %+v when the container exited", user, exited)
}

func checkNextAttempt(b *bench) {
	ref, sandbox, old := b.runContainer(b.h.Exit(0, 9))
	b.waitForExit(ref, old)
	next := b.createContainer(ref, sandbox, "main", 1, b.h.Forever)
	b.startContainer(next)
	b.Check(old != next, "both attempts have the ID %s", old)
	b.Check(b.containerStatus(ref, next).State == runtime.StateRunning, "the next attempt is not running")
	c := b.containerStatus(ref, old)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 9 && c.Attempt == 0, "the record of the old attempt has changed: %+v", c)
}

func checkRemove(b *bench) {
	ref, sandbox, exited := b.runContainer(b.h.Exit(0, 0))
	b.waitForExit(ref, exited)
	created := b.createContainer(ref, sandbox, "created", 0, b.h.Forever)
	for _, id := range []string{exited, created, exited} {
		b.Must(b.removeContainer(id), "RemoveContainer")
	}
	b.Check(len(b.podStatus(ref).Containers) == 0, "unexpected container records are left: %+v", b.podStatus(ref).Containers)
	b.Check(b.sandboxStatus(ref, sandbox).Ready, "RemoveContainer made the sandbox not ready")
}

func checkRemoveRunning(b *bench) {
	ref, _, id := b.runContainer(b.h.Forever)
	b.requireErrorIs(b.removeContainer(id), runtime.ErrWrongState, "RemoveContainer")
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container stopped although RemoveContainer returned an error")
}

func checkRemoveNeverRan(b *bench) {
	ref, sandbox, exited := b.runContainer(b.h.Exit(0, 0))
	b.waitForExit(ref, exited)
	running := b.createContainer(ref, sandbox, "running", 0, b.h.Forever)
	b.startContainer(running)
	created := b.createContainer(ref, sandbox, "created", 0, b.h.Forever)
	for _, id := range []string{exited, running} {
		b.requireErrorIs(b.removeContainerIfNeverRan(id), runtime.ErrWrongState, "RemoveContainer")
	}
	b.Must(b.removeContainerIfNeverRan(created), "RemoveContainer")
	b.Check(len(b.podStatus(ref).Containers) == 2, "unexpected container records are left: %+v", b.podStatus(ref).Containers)
	b.Check(b.containerStatus(ref, running).State == runtime.StateRunning, "the container stopped although RemoveContainer returned an error")
}

func checkRemoveUnknown(b *bench) {
	b.Must(b.removeContainer(b.name+"-no-such-container"), "RemoveContainer")
}

func checkAttemptReuse(b *bench) {
	ref, sandbox, old := b.runContainer(b.h.Exit(0, 0))
	b.waitForExit(ref, old)
	b.Must(b.removeContainer(old), "RemoveContainer")
	again := b.createContainer(ref, sandbox, "main", 0, b.h.Forever)
	b.Check(old != again, "the new container has the ID of the removed one")
	b.Check(b.containerStatus(ref, again).State == runtime.StateCreated, "the new container is not in state created")
}
