package explain

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// describeContainers returns a description of each container: init containers first, then regular and ephemeral
// ones. While an init container has a problem and no regular container has ever started, the regular containers
// get no problem of their own, because they only wait for it.
func (f *Facts) describeContainers() []Container {
	all := f.describeInitContainers()
	initialized := !slices.ContainsFunc(all, func(c Container) bool { return c.Problem != "" }) || f.hasRegularContainerRun()
	for i := range f.Status.ContainerStatuses {
		s := &f.Status.ContainerStatuses[i]
		c := f.newContainer(s, Regular)
		if initialized {
			c.Problem = f.containerProblem(&c, f.index.regular.Find(s.Name, i))
		}
		all = append(all, c)
	}
	for i := range f.Status.EphemeralContainerStatuses {
		c := f.newContainer(&f.Status.EphemeralContainerStatuses[i], Ephemeral)
		if c.State == "waiting" {
			c.Problem = f.waitingProblem(&c)
		}
		all = append(all, c)
	}
	return all
}

// describeInitContainers returns a description of each init container. Until a regular container has started,
// only the first init container with a problem gets a description of that problem. After that, only sidecars
// can have a problem.
func (f *Facts) describeInitContainers() (all []Container) {
	blocked, ran := false, f.hasRegularContainerRun()
	for i := range f.Status.InitContainerStatuses {
		s := &f.Status.InitContainerStatuses[i]
		spec := f.index.init.Find(s.Name, i)
		c := f.newContainer(s, Init)
		if spec != nil && podspec.IsSidecar(spec) {
			c.Kind = Sidecar
		}
		if !blocked && (!ran || c.Kind == Sidecar) {
			c.Problem = f.initContainerProblem(&c, spec, i)
		}
		blocked = blocked || c.Problem != "" && !ran
		all = append(all, c)
	}
	return all
}

// hasRegularContainerRun reports whether a regular container has ever started, which means that the pod is
// initialized.
func (f *Facts) hasRegularContainerRun() bool { return podstatus.AnyHasRun(f.Status.ContainerStatuses) }

// newContainer converts a container status to its description, without a problem. If the container does not run
// and waits for its next start, the description has the time of that start.
func (f *Facts) newContainer(s *v1.ContainerStatus, kind Kind) Container {
	c := Container{Name: s.Name, Kind: kind, Ready: s.Ready, Started: s.Started != nil && *s.Started, Restarts: s.RestartCount}
	last := s.LastTerminationState.Terminated
	switch {
	case s.State.Running != nil:
		c.State, c.Since = "running", s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		last = s.State.Terminated
		c.State, c.Reason, c.Message = "terminated", sanitizeLine(last.Reason), sanitizeLine(last.Message)
	case s.State.Waiting != nil:
		c.State, c.Reason, c.Message = "waiting", sanitizeLine(s.State.Waiting.Reason), sanitizeLine(s.State.Waiting.Message)
	}
	if last != nil {
		c.LastEnd = &End{last.ExitCode, last.Signal, sanitizeLine(last.Reason), sanitizeLine(last.Message), last.FinishedAt.Time}
	}
	if at, waits := f.nextAttemptAfterBackoff(c.Name); waits && s.State.Running == nil {
		c.NotBefore = at
	}
	return c
}

// initContainerProblem describes the problem of init container i. It returns "" if the init container has
// succeeded, or if it is a sidecar without a problem.
func (f *Facts) initContainerProblem(c *Container, spec *v1.Container, i int) string {
	switch {
	case c.Kind == Sidecar:
		return f.containerProblem(c, spec)
	case c.State == "terminated" && c.LastEnd.ExitCode == 0:
		return ""
	case c.State == "running":
		return fmt.Sprintf("init container %q runs (%d of %d), and the others wait for it", c.Name, i+1, len(f.Status.InitContainerStatuses))
	}
	return f.containerProblem(c, spec)
}

// containerProblem describes why a container does not run, is not started or is not ready. It returns "" if
// there is no problem, which includes an exit with code 0 after which the container is not restarted.
func (f *Facts) containerProblem(c *Container, spec *v1.Container) string {
	switch c.State {
	case "running":
		return f.startupOrReadinessProblem(c, spec)
	case "waiting":
		return f.waitingProblem(c)
	case "terminated":
		return f.terminatedProblem(c, spec)
	}
	return fmt.Sprintf("the state of %s %q is unknown", c.Kind, c.Name)
}

// startupOrReadinessProblem describes why a running container is not started or not ready. It returns "" if it
// is both. A sidecar need not be ready until a regular container has started.
func (f *Facts) startupOrReadinessProblem(c *Container, spec *v1.Container) string {
	switch {
	case c.Started && (c.Ready || c.Kind == Sidecar && !f.hasRegularContainerRun()):
		return ""
	case !c.Started && spec != nil && spec.StartupProbe != nil:
		return fmt.Sprintf("%s %q runs and has not started: its startup probe has not succeeded%s", c.Kind, c.Name, f.failedProbeMessage(c, "startup"))
	case !c.Started:
		return fmt.Sprintf("%s %q runs and has not started", c.Kind, c.Name)
	case spec != nil && spec.ReadinessProbe != nil:
		return fmt.Sprintf("%s %q runs and is not ready: its readiness probe does not succeed%s", c.Kind, c.Name, f.failedProbeMessage(c, "readiness"))
	}
	return fmt.Sprintf("%s %q runs and is not ready", c.Kind, c.Name)
}

// failedProbeMessage returns the last message of a failing probe, with a colon before it. It returns "" if the
// probe does not fail or has no message.
func (f *Facts) failedProbeMessage(c *Container, kind string) string {
	for _, p := range f.index.probes[c.Name] {
		if p.Kind == kind && !p.Success && p.Message != "" {
			return ": " + sanitizeLine(p.Message)
		}
	}
	return ""
}

// reasonStatusUnknown is the reason of a termination that the agent did not observe.
const reasonStatusUnknown = string(podstatus.ReasonContainerStatusUnknown)

// waitingProblem describes why a container waits, from its waiting reason and message. Without a reason it uses
// the state of the newest container in the runtime and the error of the last sync.
func (f *Facts) waitingProblem(c *Container) string {
	subject := fmt.Sprintf("%s %q", c.Kind, c.Name)
	state, recorded := f.newestRuntimeState(c.Name)
	switch {
	case !recorded && c.LastEnd != nil && c.LastEnd.Reason == reasonStatusUnknown:
		return subject + " is lost: the runtime no longer has a record of it, so it counts as terminated; it will be started again" + f.describeNextAttempt(c)
	case c.Reason == "" && recorded && state == runtime.StateCreated:
		return f.appendLastSyncError(subject + " was created and has not started")
	case c.Reason == "" && recorded && state == runtime.StateUnknown:
		return f.appendLastSyncError(subject + " is in a state that the runtime does not know")
	case c.Reason == "":
		return f.appendLastSyncError(subject + " waits, and no reason is known")
	case c.Reason == string(podstatus.ReasonCrashLoopBackOff) && c.LastEnd != nil:
		return fmt.Sprintf("%s waits: CrashLoopBackOff%s: it terminated with %s", subject, f.describeNextAttempt(c), c.LastEnd)
	}
	means := podstatus.Reason(c.Reason).Meaning()
	if c.Message == "" && (!means.Working || f.Worker.Step == Working) {
		return subject + " waits: " + joinReasonAndMessage(c.Reason+f.describeNextAttempt(c), means.Sentence)
	}
	return subject + " waits: " + joinReasonAndMessage(c.Reason+f.describeNextAttempt(c), c.Message)
}

// terminatedProblem describes the exit of a container and whether it is started again. It returns "" for an
// exit code of 0 after which the container is not restarted.
func (f *Facts) terminatedProblem(c *Container, spec *v1.Container) string {
	subject := fmt.Sprintf("%s %q", c.Kind, c.Name)
	restarts := spec != nil && podstatus.MayRestart(f.Pod, spec, c.LastEnd.ExitCode)
	switch {
	case restarts && c.Reason == reasonStatusUnknown:
		return subject + " is lost: the runtime does not know how it terminated; it will be started again" + f.describeNextAttempt(c)
	case restarts:
		return fmt.Sprintf("%s terminated with %s, and will be started again%s", subject, c.LastEnd, f.describeNextAttempt(c))
	case c.Reason == reasonStatusUnknown:
		return subject + " is lost: the runtime does not know how it terminated; it is not started again"
	case c.LastEnd.ExitCode != 0:
		return fmt.Sprintf("%s terminated with %s, and is not started again", subject, c.LastEnd)
	}
	return ""
}

// describeNextAttempt returns the time until the container is started again, with a comma before it. It returns
// "" if that time is unknown or past.
func (f *Facts) describeNextAttempt(c *Container) string {
	at, waits := f.nextAttemptAfterBackoff(c.Name)
	if !waits {
		return ""
	}
	return ", next try " + formatFuture(at.Sub(f.Now))
}

// newestRuntimeState returns the state of the newest container of this name in the runtime. It returns false if
// the runtime has none.
func (f *Facts) newestRuntimeState(name string) (runtime.State, bool) {
	if rec := f.index.records.Find(name, 0); rec != nil {
		return rec.State, true
	}
	return 0, false
}

// describeAllReady returns a sentence with the number of running regular containers. The caller uses it for a
// pod without problems, whose containers are all ready.
func describeAllReady(containers []Container) string {
	n := 0
	for i := range containers {
		if containers[i].State == "running" && containers[i].Kind == Regular {
			n++
		}
	}
	if n == 1 {
		return "its container runs and is ready"
	}
	return fmt.Sprintf("its %d containers run and are ready", n)
}
