package podsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// start brings one container up in a sandbox, unless it is held by its crash
// loop. Its error says why it waits, and when to come back.
func (s *Syncer) start(ctx context.Context, v *syncPass, st *plan.Held, sandbox string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := st.Container
	if !st.Until.IsZero() && st.Reason.Replaces() {
		// It was stopped a moment ago. Its delay begins with its end, which the next status shows.
		err := fmt.Errorf("back-off restarting stopped container=%s pod=%s(%s)", c.Name, podmanager.FullName(v.pod), v.pod.UID)
		return podworkers.RetryAfter(because(podstatus.ReasonCrashLoopBackOff, err), st.Until)
	}
	if !st.Until.IsZero() {
		err := s.held(v, st)
		v.explain(c.Name, err)
		return err
	}
	err := s.do(ctx, v, Result{Action: StartContainer, Target: c.Name, Why: string(st.Reason)}, func() error {
		return s.bringUp(ctx, v, st, sandbox)
	})
	if !cut(ctx, err) {
		v.explain(c.Name, err)
	}
	return err
}

// held is the error of a container that must wait for its next restart.
func (s *Syncer) held(v *syncPass, st *plan.Held) error {
	name := st.Container.Name
	if !v.incarnation.reported.backOffs[name].Equal(st.Until) { // Once for each wait, however often the pod is looked at.
		s.warn(v, name, eventBackOff, "Back-off restarting failed container %s in pod %s, next try in %s",
			name, podmanager.FullName(v.pod), roundUpToSecond(st.Until.Sub(s.executor.Now())))
		if v.incarnation.reported.backOffs == nil {
			v.incarnation.reported.backOffs = make(map[string]time.Time)
		}
		v.incarnation.reported.backOffs[name] = st.Until
	}
	s.cfg.Hooks.Held(Hold{v.pod.UID, name, st.Until})
	err := fmt.Errorf("back-off %s restarting failed container=%s pod=%s(%s), next try at %s",
		st.Delay, name, podmanager.FullName(v.pod), v.pod.UID, formatAttemptTime(st.Until))
	return podworkers.RetryAt(because(podstatus.ReasonCrashLoopBackOff, err), st.Until)
}

// roundUpToSecond rounds a time to wait up, for messages: the wait is never longer than they say.
func roundUpToSecond(d time.Duration) time.Duration {
	return (max(d, 0) + time.Second - 1).Truncate(time.Second)
}

// formatAttemptTime formats the time of an attempt for messages. The attempt is made within the second
// before that time. The text is the same in each sync of a container that waits, so that the status
// of the container does not change.
func formatAttemptTime(at time.Time) string {
	return at.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.RFC3339)
}

// bringUp goes the way of a container: image, record, run.
func (s *Syncer) bringUp(ctx context.Context, v *syncPass, st *plan.Held, sandbox string) error {
	c := st.Container
	if id := v.found(st, sandbox, s.executor.Now()); id != "" {
		s.attempted(v, st)
		s.creating(v, st)
		return s.launch(ctx, v, st, id, v.record(id).Attempt)
	}
	if err := s.removeCreated(ctx, v, st.Created); err != nil {
		err = because(podstatus.ReasonCreateContainerError, fmt.Errorf("an earlier record is in the way: %w", err))
		if errors.Is(err, runtime.ErrWrongState) {
			return podworkers.RetryAfter(err, s.executor.Now()) // It was started after all: the next look tells.
		}
		return err
	}
	s.attempted(v, st)
	if err := s.ensureVolumeImages(ctx, v, c); err != nil {
		return err
	}
	image, err := s.ensureImage(ctx, v, v.imageOf(c))
	if err != nil {
		return err
	}
	defer image.release()
	s.recount(v, st)
	req, err := s.containerRequest(ctx, v, st, sandbox, image)
	switch {
	case cut(ctx, err):
		return err
	case err != nil:
		wrong := because(podstatus.ReasonCreateContainerConfigError, err)
		if v.isNews(c.Name, wrong) {
			s.failed(v, c.Name, err)
		}
		return wrong
	}
	s.creating(v, st)
	id, err := s.create(ctx, v, req)
	image.release() // From here on the record keeps it.
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // It is to end before it has begun; who ends the pod removes it.
	}
	return s.launch(ctx, v, st, id, req.Attempt)
}

// launch starts a container that has a record.
func (s *Syncer) launch(ctx context.Context, v *syncPass, st *plan.Held, id string, attempt uint32) error {
	c := st.Container
	v.noteStart(c, id, attempt, s.executor.Now())
	if err := s.run(ctx, v, st, id); err != nil {
		if neverRan(err) {
			s.forgetStart(v, id)
		}
		return err
	}
	s.linkLog(v, c.Name, id, attempt)
	return s.postStart(ctx, v, c, id)
}

// linkLog has a link to the log of a container that runs.
func (s *Syncer) linkLog(v *syncPass, container, id string, attempt uint32) {
	linker, ok := s.cfg.Logs.(LogLinker)
	if !ok {
		return
	}
	if err := linker.Link(v.ref(), container, id, attempt); err != nil {
		s.cfg.Log.Warn("there is no link to the log of a container", "pod", podmanager.FullName(v.pod), "uid", v.pod.UID, "container", container, "err", err)
	}
}

// found is the record of a container that a start finds already made, as it
// would make it: the reply was lost, or an agent was killed in between. It is
// started, and not replaced: the runtime refuses that if a call of that agent
// has started it, or is about to, while a record that was seen unstarted a moment
// ago may go with all that has been since. One that does not start is replaced.
func (v *syncPass) found(st *plan.Held, sandbox string, now time.Time) string {
	if len(st.Created) != 1 {
		return ""
	}
	id := st.Created[0]
	rec := v.record(id)
	if rec == nil || rec.State != runtime.StateCreated || rec.SandboxID != sandbox ||
		rec.Annotations[plan.HashAnnotation] != plan.SpecHash(st.Container) || !v.incarnation.decided.MayStart(rec.Name, id, now) {
		return ""
	}
	return id
}

// recount looks for a container among the logs of which neither records nor a
// status tell that it ran before: a runtime may have lost its state, and a number
// is not to be used again (KC-2).
func (s *Syncer) recount(v *syncPass, st *plan.Held) {
	if s.cfg.Logs == nil || st.Attempt > 0 {
		return
	}
	next, err := s.cfg.Logs.NextAttempt(v.ref(), st.Container.Name)
	if err != nil {
		s.cfg.Log.Warn("the logs of a container do not tell how often it ran", "pod", podmanager.FullName(v.pod), "uid", v.pod.UID, "container", st.Container.Name, "err", err)
		return
	}
	st.Attempt = next
}

// removeCreated drops records that never ran, and sees for itself that they are
// gone: if the start of one is under way it must not be followed by another.
func (s *Syncer) removeCreated(ctx context.Context, v *syncPass, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		if err := s.removeUnstarted(ctx, v, id); err != nil {
			return err
		}
	}
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return err
	}
	for i := range status.Containers {
		if c := &status.Containers[i]; slices.Contains(ids, c.ID) {
			return fmt.Errorf("container %s was removed and is still there, %s", c.Name, c.State)
		}
	}
	return nil
}

// create makes the container's record.
func (s *Syncer) create(ctx context.Context, v *syncPass, req runtime.CreateContainerRequest) (id string, err error) {
	err = s.commit(ctx, v, func(ctx context.Context) (err error) {
		id, err = s.cfg.Runtime.CreateContainer(ctx, req)
		return err
	})
	if errors.Is(err, runtime.ErrUnsupported) && req.PIDTarget != "" {
		return s.createApart(ctx, v, req)
	}
	if err != nil {
		s.failed(v, req.Name, err)
		return "", s.perhapsDone(ctx, v, because(podstatus.ReasonCreateContainerError, err), func(c *runtime.ContainerStatus) bool {
			return c.Name == req.Name && c.SandboxID == req.SandboxID && c.Attempt == req.Attempt
		}, nil)
	}
	v.incarnation.decided = v.incarnation.decided.Created(plan.Made{
		Name: req.Name, SandboxID: req.SandboxID, Hash: req.Annotations[plan.HashAnnotation], Attempt: req.Attempt, Incarnation: req.Pod.Incarnation,
	})
	s.tell(v, req.Name, eventCreated, "Container %s created", req.Name)
	return id, nil
}

// createApart is create for a runtime that does not show a container the processes of another one. It
// is better to have a debugger without them than none.
func (s *Syncer) createApart(ctx context.Context, v *syncPass, req runtime.CreateContainerRequest) (id string, err error) {
	req.PIDTarget = ""
	if id, err = s.create(ctx, v, req); err == nil {
		s.warn(v, req.Name, eventIgnoredField, "without effect on this runtime: targetContainerName: the processes of container %s are not shown", request.PIDTarget(v.pod, req.Name))
	}
	return id, err
}

// perhapsDone is the error of a call that was to make something. Its reply may have been
// lost: if there is what it was to make, that is seen, and used, soon. Otherwise the
// error stands as it is.
func (s *Syncer) perhapsDone(ctx context.Context, v *syncPass, err error, container func(*runtime.ContainerStatus) bool, sandbox func(*runtime.SandboxStatus) bool) error {
	if ctx.Err() != nil || errors.Is(err, runtime.ErrExists) || errors.Is(err, runtime.ErrNotReady) || errors.Is(err, runtime.ErrNetworkNotReady) {
		return err // Each has its own way.
	}
	status, failed := s.look(ctx, v.pod.UID)
	if failed != nil {
		return err
	}
	for i := range status.Containers {
		if container != nil && container(&status.Containers[i]) {
			return podworkers.RetryAfter(err, s.executor.Now())
		}
	}
	for i := range status.Sandboxes {
		if sandbox != nil && sandbox(&status.Sandboxes[i]) {
			return podworkers.RetryAfter(err, s.executor.Now())
		}
	}
	return err
}

// attempted and creating tell how far a start is, so that crash loops count it.
func (s *Syncer) attempted(v *syncPass, st *plan.Held) {
	v.incarnation.decided = v.incarnation.decided.Attempted(st.Step, s.executor.Now())
}

func (s *Syncer) creating(v *syncPass, st *plan.Held) {
	v.incarnation.decided = v.incarnation.decided.Creating(st.Step, s.executor.Now())
}

// run has the runtime start a container.
func (s *Syncer) run(ctx context.Context, v *syncPass, st *plan.Held, id string) error {
	name := st.Name
	v.incarnation.decided = v.incarnation.decided.Made(st.Step, id)
	err := s.commit(ctx, v, func(ctx context.Context) error {
		return s.cfg.Runtime.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id})
	})
	switch {
	case err == nil:
	case errors.Is(err, runtime.ErrExists), errors.Is(err, runtime.ErrWrongState):
		// It is not as it was seen: it is being started, has run, or its sandbox has gone.
		v.incarnation.decided = v.incarnation.decided.Refused(st.Step, s.executor.Now())
		return podworkers.RetryAfter(because(podstatus.ReasonRunContainerError, err), s.executor.Now())
	default:
		if !errors.Is(err, runtime.ErrNotReady) && !errors.Is(err, context.DeadlineExceeded) {
			v.incarnation.decided = v.incarnation.decided.Failed(st.Step, s.executor.Now())
		}
		s.failed(v, name, err)
		return because(podstatus.ReasonRunContainerError, err)
	}
	s.tell(v, name, eventStarted, "Container %s started", name)
	return nil
}

// failed tells people why a container did not come up.
func (s *Syncer) failed(v *syncPass, container string, err error) {
	s.warn(v, container, eventFailed, "Error: %v", err)
}

// removeContainer drops the record of a container that does not run.
func (s *Syncer) removeContainer(ctx context.Context, v *syncPass, id, why string) error {
	return s.drop(ctx, v, runtime.RemoveContainerRequest{ContainerID: id}, why)
}

// removeUnstarted drops the record of a container that was only created when it
// was looked at. A start that an agent sent before it died may have come since:
// then its record stays, as what has run is not to run again for want of one.
func (s *Syncer) removeUnstarted(ctx context.Context, v *syncPass, id string) error {
	err := s.drop(ctx, v, runtime.RemoveContainerRequest{ContainerID: id, NeverRan: true}, "never ran")
	if err == nil {
		s.forgetStart(v, id)
	}
	return err
}

func (s *Syncer) drop(ctx context.Context, v *syncPass, req runtime.RemoveContainerRequest, why string) error {
	return s.do(ctx, v, Result{Action: RemoveContainer, Target: req.ContainerID, Why: why}, func() error {
		return s.commit(ctx, v, func(ctx context.Context) error { return s.cfg.Runtime.RemoveContainer(ctx, req) })
	})
}

// removeSandbox drops a sandbox that nobody uses.
func (s *Syncer) removeSandbox(ctx context.Context, v *syncPass, id, why string) error {
	return s.do(ctx, v, Result{Action: RemovePodSandbox, Target: id, Why: why}, func() error {
		return s.commit(ctx, v, func(ctx context.Context) error {
			return s.cfg.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
		})
	})
}
