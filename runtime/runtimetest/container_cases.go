package runtimetest

import (
	"errors"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var containerCases = []Case{
	{"container/create", "a new container does not run", containerCreate},
	{"container/exists", "a second container of a name and attempt is ErrExists and without effect", containerExists},
	{"container/no-sandbox", "a container in an unknown sandbox is ErrNotFound", containerNoSandbox},
	{"container/no-image", "a container of an unknown image is ErrNotFound", containerNoImage},
	{"container/image-ref", "a container is made of its ImageRef, whatever its Image is called", containerImageRef},
	{"container/pid-target", "a container that is to see the processes of another one runs, or is ErrUnsupported and leaves no record", containerPIDTarget},
	{"container/start", "a started container runs", containerStart},
	{"container/start-again", "starting a running container is no error and does nothing", containerStartAgain},
	{"container/start-exited", "starting a container that has exited is ErrWrongState", containerStartExited},
	{"container/start-unknown", "starting an unknown container is ErrNotFound", containerStartUnknown},
	{"container/exit", "a container that exits keeps its code", containerExit},
	{"container/times", "a container that exits keeps its times", containerTimes},
	{"container/exit-reason", "the reason of an end is Completed with code 0 and another word with any other code, or there is none", containerExitReason},
	{"container/env", "a container has the environment of its request", containerEnv},
	{"container/working-dir", "a container begins in the working directory of its request", containerWorkingDir},
	{"container/next-attempt", "a next attempt stands beside the old one", containerNextAttempt},
	{"container/remove", "the records of a container that does not run can be removed", containerRemove},
	{"container/remove-running", "removing a running container is ErrWrongState and without effect", containerRemoveRunning},
	{"container/remove-never-ran", "what has run is not removed as something that never did, and that is ErrWrongState", containerRemoveNeverRan},
	{"container/remove-unknown", "removing an unknown container is no error", containerRemoveUnknown},
	{"container/attempt-is-free", "the attempt of a removed container can be used again", containerAttemptIsFree},
}

func containerCreate(b *bench) {
	ref := b.pod()
	sandbox := b.sandbox(ref, 0)
	one := b.create(ref, sandbox, "one", 0, b.h.Forever)
	two := b.create(ref, sandbox, "two", 0, b.h.Forever)
	b.Check(one != "" && two != "" && one != two, "the IDs are %q and %q", one, two)
	for _, id := range []string{one, two} {
		c := b.container(ref, id)
		b.Check(c.State == runtime.StateCreated, "a new container is %s", c.State)
		b.Check(!c.CreatedAt.IsZero() && c.StartedAt.IsZero() && c.FinishedAt.IsZero(), "its times are %s, %s, %s", c.CreatedAt, c.StartedAt, c.FinishedAt)
	}
}

func containerExists(b *bench) {
	ref, sandbox, id := b.run(b.h.Forever)
	before := b.container(ref, id)
	_, err := b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "main", 0, b.h.Forever))
	b.is(err, runtime.ErrExists, "CreateContainer of the same attempt")
	after := b.container(ref, id)
	b.Check(len(b.status(ref).Containers) == 1, "there are two")
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "the first was touched")
	b.Must(b.stop(id, 0), "StopContainer")
	_, err = b.rt.CreateContainer(b.ctx, b.containerRequest(ref, sandbox, "main", 0, b.h.Forever))
	b.is(err, runtime.ErrExists, "CreateContainer of the same attempt, which has exited")
}

func containerNoSandbox(b *bench) {
	ref := b.pod()
	_, err := b.rt.CreateContainer(b.ctx, b.containerRequest(ref, b.name+"-no-such-sandbox", "main", 0, b.h.Forever))
	b.is(err, runtime.ErrNotFound, "CreateContainer")
}

func containerNoImage(b *bench) {
	ref := b.pod()
	req := b.containerRequest(ref, b.sandbox(ref, 0), "main", 0, b.h.Forever)
	req.Image, req.ImageRef = b.h.MissingImage, b.h.MissingImage
	_, err := b.rt.CreateContainer(b.ctx, req)
	b.is(err, runtime.ErrNotFound, "CreateContainer")
	b.Check(len(b.status(ref).Containers) == 0, "there is a record nevertheless")
}

func containerImageRef(b *bench) {
	ref := b.pod()
	req := b.containerRequest(ref, b.sandbox(ref, 0), "main", 0, b.h.Forever)
	req.Image = "runtimetest.podkeel.dev/a-name-of-the-spec" // As nginx, of which nginx:latest was pulled.
	id, err := b.rt.CreateContainer(b.ctx, req)
	b.Must(err, "CreateContainer with another Image")
	b.start(id)
	b.Check(b.container(ref, id).State == runtime.StateRunning, "it does not run")
}

func containerPIDTarget(b *bench) {
	ref, sandbox, target := b.run(b.h.Forever)
	req := b.containerRequest(ref, sandbox, "debugger", 0, b.h.Forever)
	req.PIDTarget = target
	id, err := b.rt.CreateContainer(b.ctx, req)
	if errors.Is(err, runtime.ErrUnsupported) {
		b.Check(len(b.status(ref).Containers) == 1, "there is a record nevertheless")
		return
	}
	b.Must(err, "CreateContainer")
	b.Must(b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id}), "StartContainer")
	b.Check(b.container(ref, id).State == runtime.StateRunning, "it does not run")
	b.Must(b.stop(id, 0), "StopContainer")
	b.Check(b.container(ref, target).State == runtime.StateRunning, "the other one does not run any more")
}

func containerStart(b *bench) {
	ref, _, id := b.run(b.h.Forever)
	c := b.container(ref, id)
	b.Check(c.State == runtime.StateRunning, "a started container is %s", c.State)
	b.Check(!c.StartedAt.IsZero() && c.FinishedAt.IsZero(), "it started %s and ended %s", c.StartedAt, c.FinishedAt)
	b.sleep(2 * time.Second)
	b.Check(b.container(ref, id).State == runtime.StateRunning, "it does not stay so")
}

func containerStartAgain(b *bench) {
	ref, _, id := b.run(b.h.Forever)
	before := b.container(ref, id)
	b.sleep(100 * time.Millisecond)
	b.start(id)
	after := b.container(ref, id)
	b.Check(after.State == runtime.StateRunning && after.StartedAt.Equal(before.StartedAt), "it was started again: %+v", after)
}

func containerStartExited(b *bench) {
	ref, _, id := b.run(b.h.Exit(0, 3))
	before := b.exited(ref, id)
	err := b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id})
	b.is(err, runtime.ErrWrongState, "StartContainer")
	after := b.container(ref, id)
	b.Check(after.State == runtime.StateExited && after.ExitCode == 3 && after.FinishedAt.Equal(before.FinishedAt), "its end has changed: %+v", after)
}

func containerStartUnknown(b *bench) {
	err := b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: b.name + "-no-such-container"})
	b.is(err, runtime.ErrNotFound, "StartContainer")
}

func containerExit(b *bench) {
	for _, code := range []int{0, 1, 42} {
		ref, _, id := b.run(b.h.Exit(0, code))
		c := b.exited(ref, id)
		b.Check(c.ExitCode == int32(code), "exit %d is recorded as %d", code, c.ExitCode)
		b.Check(b.place(ref, c.SandboxID).Ready, "the end of its container ended the sandbox")
	}
}

func containerExitReason(b *bench) {
	const completed = "Completed"
	for _, code := range []int{0, 3} {
		ref, _, id := b.run(b.h.Exit(0, code))
		reason := b.exited(ref, id).Reason
		b.Check(reason == "" || (reason == completed) == (code == 0), "a container that exits with %d has the reason %q", code, reason)
	}
	ref, _, id := b.run(b.h.Forever)
	b.Must(b.stop(id, 0), "StopContainer")
	c := b.container(ref, id)
	b.Check(c.ExitCode != 0 && c.Reason != completed, "a container that was killed ended with %d and the reason %q", c.ExitCode, c.Reason)
}

// ends runs a container of a request that a case has changed, and returns its record at the end.
func (b *bench) ends(command []string, change func(*runtime.CreateContainerRequest)) runtime.ContainerStatus {
	b.Helper()
	ref := b.pod()
	req := b.containerRequest(ref, b.sandbox(ref, 0), "main", 0, command)
	change(&req)
	id, err := b.rt.CreateContainer(b.ctx, req)
	b.Must(err, "CreateContainer")
	b.start(id)
	return b.exited(ref, id)
}

func containerEnv(b *bench) {
	const name, value = "RUNTIMETEST", "one two"
	c := b.ends(b.h.HasEnv(name, value), func(req *runtime.CreateContainerRequest) {
		req.Env = []runtime.EnvVar{{Name: "RUNTIMETEST_OTHER", Value: "x"}, {Name: name, Value: value}}
	})
	b.Check(c.ExitCode == 0, "its environment lacks %s=%q: a command that looks for it ended with %d", name, value, c.ExitCode)
}

func containerWorkingDir(b *bench) {
	const dir = "/tmp"
	c := b.ends(b.h.InDir(dir), func(req *runtime.CreateContainerRequest) { req.WorkingDir = dir })
	b.Check(c.ExitCode == 0, "it does not run in %s: a command that looks ended with %d", dir, c.ExitCode)
}

func containerTimes(b *bench) {
	ref, _, id := b.run(b.h.Exit(2*time.Second, 0))
	c := b.exited(ref, id)
	b.Check(!c.CreatedAt.IsZero() && !c.StartedAt.Before(c.CreatedAt), "created %s, started %s", c.CreatedAt, c.StartedAt)
	ran := c.FinishedAt.Sub(c.StartedAt)
	b.Check(ran > time.Second && ran < 2*time.Second+b.h.Slack, "what runs two seconds ran %s by the record", ran)
	b.sleep(time.Second)
	later := b.container(ref, id)
	b.Check(later.StartedAt.Equal(c.StartedAt) && later.FinishedAt.Equal(c.FinishedAt), "its times change after its end")
}

func containerNextAttempt(b *bench) {
	ref, sandbox, old := b.run(b.h.Exit(0, 9))
	b.exited(ref, old)
	next := b.create(ref, sandbox, "main", 1, b.h.Forever)
	b.start(next)
	b.Check(old != next, "both have the ID %s", old)
	b.Check(b.container(ref, next).State == runtime.StateRunning, "the next attempt does not run")
	c := b.container(ref, old)
	b.Check(c.State == runtime.StateExited && c.ExitCode == 9 && c.Attempt == 0, "the old attempt's record is %+v", c)
}

func containerRemove(b *bench) {
	ref, sandbox, exited := b.run(b.h.Exit(0, 0))
	b.exited(ref, exited)
	created := b.create(ref, sandbox, "created", 0, b.h.Forever)
	for _, id := range []string{exited, created, exited} {
		b.Must(b.remove(id), "RemoveContainer")
	}
	b.Check(len(b.status(ref).Containers) == 0, "the records left are %+v", b.status(ref).Containers)
	b.Check(b.place(ref, sandbox).Ready, "the sandbox went with its containers")
}

func containerRemoveRunning(b *bench) {
	ref, _, id := b.run(b.h.Forever)
	b.is(b.remove(id), runtime.ErrWrongState, "RemoveContainer")
	b.Check(b.container(ref, id).State == runtime.StateRunning, "the container does not run any more")
}

func containerRemoveNeverRan(b *bench) {
	ref, sandbox, exited := b.run(b.h.Exit(0, 0))
	b.exited(ref, exited)
	running := b.create(ref, sandbox, "running", 0, b.h.Forever)
	b.start(running)
	created := b.create(ref, sandbox, "created", 0, b.h.Forever)
	for _, id := range []string{exited, running} {
		b.is(b.removeUnstarted(id), runtime.ErrWrongState, "RemoveContainer")
	}
	b.Must(b.removeUnstarted(created), "RemoveContainer")
	b.Check(len(b.status(ref).Containers) == 2, "the records left are %+v", b.status(ref).Containers)
	b.Check(b.container(ref, running).State == runtime.StateRunning, "the container does not run any more")
}

func containerRemoveUnknown(b *bench) {
	b.Must(b.remove(b.name+"-no-such-container"), "RemoveContainer")
}

func containerAttemptIsFree(b *bench) {
	ref, sandbox, old := b.run(b.h.Exit(0, 0))
	b.exited(ref, old)
	b.Must(b.remove(old), "RemoveContainer")
	again := b.create(ref, sandbox, "main", 0, b.h.Forever)
	b.Check(old != again, "a new container has the ID of the old one")
	b.Check(b.container(ref, again).State == runtime.StateCreated, "the new container is not new")
}
