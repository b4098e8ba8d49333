package explain

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// containers describes each, in the order in which they start. What is amiss
// with one that merely waits for an init container is said of that one.
func (f *Facts) containers() []Container {
	all := f.inits()
	initialized := !slices.ContainsFunc(all, func(c Container) bool { return c.Problem != "" }) || f.regularRan()
	for i := range f.Status.ContainerStatuses {
		s := &f.Status.ContainerStatuses[i]
		c := f.container(s, Regular)
		if initialized {
			c.Problem = f.clause(&c, f.find.regular.Find(s.Name, i))
		}
		all = append(all, c)
	}
	for i := range f.Status.EphemeralContainerStatuses {
		c := f.container(&f.Status.EphemeralContainerStatuses[i], Ephemeral)
		if c.State == "waiting" {
			c.Problem = f.waiting(&c)
		}
		all = append(all, c)
	}
	return all
}

// inits are the init containers, of which the first that is not done has
// something to say. Sidecars go on to count when the pod is initialized.
func (f *Facts) inits() (all []Container) {
	blocked, ran := false, f.regularRan()
	for i := range f.Status.InitContainerStatuses {
		s := &f.Status.InitContainerStatuses[i]
		spec := f.find.init.Find(s.Name, i)
		c := f.container(s, Init)
		if spec != nil && podspec.IsSidecar(spec) {
			c.Kind = Sidecar
		}
		if !blocked && (!ran || c.Kind == Sidecar) {
			c.Problem = f.initClause(&c, spec, i)
		}
		blocked = blocked || c.Problem != "" && !ran
		all = append(all, c)
	}
	return all
}

// regularRan: a regular container has begun once, so that the pod is
// initialized.
func (f *Facts) regularRan() bool { return podstatus.AnyHasRun(f.Status.ContainerStatuses) }

// container is what its status says.
func (f *Facts) container(s *v1.ContainerStatus, kind Kind) Container {
	c := Container{Name: s.Name, Kind: kind, Ready: s.Ready, Started: s.Started != nil && *s.Started, Restarts: s.RestartCount}
	last := s.LastTerminationState.Terminated
	switch {
	case s.State.Running != nil:
		c.State, c.Since = "running", s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		last = s.State.Terminated
		c.State, c.Reason, c.Message = "terminated", line(last.Reason), line(last.Message)
	case s.State.Waiting != nil:
		c.State, c.Reason, c.Message = "waiting", line(s.State.Waiting.Reason), line(s.State.Waiting.Message)
	}
	if last != nil {
		c.LastEnd = &End{last.ExitCode, last.Signal, line(last.Reason), line(last.Message), last.FinishedAt.Time}
	}
	if at, waits := f.tried(c.Name); waits && s.State.Running == nil {
		c.NotBefore = at
	}
	return c
}

// initClause is what is amiss with an init container.
func (f *Facts) initClause(c *Container, spec *v1.Container, i int) string {
	switch {
	case c.Kind == Sidecar:
		return f.clause(c, spec)
	case c.State == "terminated" && c.LastEnd.ExitCode == 0:
		return ""
	case c.State == "running":
		return fmt.Sprintf("init container %q runs (%d of %d), and the others wait for it", c.Name, i+1, len(f.Status.InitContainerStatuses))
	}
	return f.clause(c, spec)
}

// clause is what is amiss with a container; empty: nothing.
func (f *Facts) clause(c *Container, spec *v1.Container) string {
	switch c.State {
	case "running":
		return f.running(c, spec)
	case "waiting":
		return f.waiting(c)
	case "terminated":
		return f.ended(c, spec)
	}
	return fmt.Sprintf("nothing is known of %s %q", c.Kind, c.Name)
}

func (f *Facts) running(c *Container, spec *v1.Container) string {
	switch {
	case c.Started && (c.Ready || c.Kind == Sidecar && !f.regularRan()):
		return ""
	case !c.Started && spec != nil && spec.StartupProbe != nil:
		return fmt.Sprintf("%s %q runs and has not started: its startup probe has not succeeded%s", c.Kind, c.Name, f.probe(c, "startup"))
	case !c.Started:
		return fmt.Sprintf("%s %q runs and has not started", c.Kind, c.Name)
	case spec != nil && spec.ReadinessProbe != nil:
		return fmt.Sprintf("%s %q runs and is not ready: its readiness probe does not succeed%s", c.Kind, c.Name, f.probe(c, "readiness"))
	}
	return fmt.Sprintf("%s %q runs and is not ready", c.Kind, c.Name)
}

// probe is what a failing probe said last.
func (f *Facts) probe(c *Container, kind string) string {
	for _, p := range f.find.probes[c.Name] {
		if p.Kind == kind && !p.Success && p.Message != "" {
			return ": " + line(p.Message)
		}
	}
	return ""
}

// statusUnknown is the reason of an end that nobody has seen.
const statusUnknown = string(podstatus.ReasonContainerStatusUnknown)

func (f *Facts) waiting(c *Container) string {
	subject := fmt.Sprintf("%s %q", c.Kind, c.Name)
	state, recorded := f.record(c.Name)
	switch {
	case !recorded && c.LastEnd != nil && c.LastEnd.Reason == statusUnknown:
		return subject + " is lost: the runtime has no record of it any more, so that it counts as ended; it is to be started again" + f.again(c)
	case c.Reason == "" && recorded && state == runtime.StateCreated:
		return f.andLast(subject + " has been made and has not run")
	case c.Reason == "" && recorded && state == runtime.StateUnknown:
		return f.andLast(subject + " is in a state that the runtime cannot tell")
	case c.Reason == "":
		return f.andLast(subject + " waits, and no reason is known")
	case c.Reason == string(podstatus.ReasonCrashLoopBackOff) && c.LastEnd != nil:
		return fmt.Sprintf("%s waits: CrashLoopBackOff%s: it ended with %s", subject, f.again(c), c.LastEnd)
	}
	means := podstatus.Reason(c.Reason).Meaning()
	if c.Message == "" && (!means.Working || f.Worker.Step == Working) {
		return subject + " waits: " + because(c.Reason+f.again(c), means.Sentence)
	}
	return subject + " waits: " + because(c.Reason+f.again(c), c.Message)
}

func (f *Facts) ended(c *Container, spec *v1.Container) string {
	subject := fmt.Sprintf("%s %q", c.Kind, c.Name)
	restarts := spec != nil && podstatus.MayRestart(f.Pod, spec, c.LastEnd.ExitCode)
	switch {
	case restarts && c.Reason == statusUnknown:
		return subject + " is lost: the runtime cannot tell how it ended; it is to be started again" + f.again(c)
	case restarts:
		return fmt.Sprintf("%s has ended with %s, and is to be started again%s", subject, c.LastEnd, f.again(c))
	case c.Reason == statusUnknown:
		return subject + " is lost: the runtime does not tell how it ended; it is not started again"
	case c.LastEnd.ExitCode != 0:
		return fmt.Sprintf("%s has ended with %s, and is not started again", subject, c.LastEnd)
	}
	return ""
}

// again is when the container is tried again, if that is known.
func (f *Facts) again(c *Container) string {
	at, waits := f.tried(c.Name)
	if !waits {
		return ""
	}
	return ", next try " + in(at.Sub(f.Now))
}

// record is the newest record of a container.
func (f *Facts) record(name string) (runtime.State, bool) {
	if rec := f.find.records.Find(name, 0); rec != nil {
		return rec.State, true
	}
	return 0, false
}

// well is the sentence of a pod with which nothing is amiss.
func well(all []Container) string {
	n := 0
	for i := range all {
		if all[i].State == "running" && all[i].Kind == Regular {
			n++
		}
	}
	if n == 1 {
		return "its container runs and is ready"
	}
	return fmt.Sprintf("its %d containers run and are ready", n)
}
