package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// CreateContainer implements runtime.Containers. CRI takes a name and attempt
// for the whole pod, so the same in another sandbox of it is ErrExists too.
func (r *Runtime) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	const verb = "CreateContainer"
	name := string(req.Pod.UID) + "/" + req.Name + "/" + strconv.FormatUint(uint64(req.Attempt), 10)
	if !r.making.begin(name) {
		return "", exists(verb, "the container is being made")
	}
	defer r.making.end(name)
	sandbox, err := r.sandbox(ctx, req.SandboxID)
	if err != nil {
		return "", err
	}
	if err := pathsFit(verb, &req); err != nil {
		return "", err
	}
	if err := r.supported(ctx, &req, sandbox.handler); err != nil {
		return "", err
	}
	if req.LogPath != "" && sandbox.place.LogDir != "" {
		if err := makeLogDir(filepath.Dir(filepath.Join(sandbox.place.LogDir, req.LogPath))); err != nil {
			return "", err
		}
	}
	req.Resources = r.fitting(req.Resources, "uid", req.Pod.UID, "container", req.Name)
	res, err := call(ctx, r, verb, r.cfg.Deadlines.Make, r.runtime.CreateContainer,
		convert.CreateContainer(req, sandbox.place, sandbox.attempt, r.cfg.Owner))
	switch {
	case err != nil:
		return "", r.whyNoContainer(ctx, &req, err)
	case res.GetContainerId() == "":
		return "", fmt.Errorf("%w: a container without an ID", ErrMalformed)
	}
	r.records.add(res.GetContainerId(), record{uid: req.Pod.UID, sandbox: req.SandboxID})
	return res.GetContainerId(), nil
}

// supported fails for what a runtime would pass over in silence, or take for more
// than is meant, and leaves out what it need not do.
func (r *Runtime) supported(ctx context.Context, req *runtime.CreateContainerRequest, handler string) error {
	if _, ok := convert.StopSignal(req.StopSignal); !ok {
		return fmt.Errorf("cri: %w: stop signal %q", runtime.ErrUnsupported, req.StopSignal)
	}
	if req.LogPath != "" && !filepath.IsLocal(req.LogPath) {
		return fmt.Errorf("cri: %w: log path %q is not below the sandbox's directory", runtime.ErrUnsupported, req.LogPath)
	}
	if err := r.greet(ctx); err != nil {
		return err
	}
	g := r.greeted()
	if req.Security.StrictGroups && !g.strictGroups {
		return strictGroupsFault(g)
	}
	images, can := convert.ImageMounts(g.name, g.version), g.readOnly[handler]
	mounts := make([]runtime.Mount, len(req.Mounts))
	for i, m := range req.Mounts {
		switch {
		case m.Image == "":
		case images == runtime.ImageMountsNone:
			return fmt.Errorf("cri: %w: %s %s cannot mount the image at %s", runtime.ErrUnsupported, g.name, g.version, m.ContainerPath)
		case images == runtime.ImageMountsWhole && m.ImageSubPath != "":
			return fmt.Errorf("cri: %w: %s %s cannot mount a part of the image at %s", runtime.ErrUnsupported, g.name, g.version, m.ContainerPath)
		}
		if m.RecursiveReadOnly == runtime.RecursiveReadOnlyEnabled && !can {
			return fmt.Errorf("cri: %w: what is mounted below %s cannot be made read-only", runtime.ErrUnsupported, m.ContainerPath)
		}
		if !can {
			m.RecursiveReadOnly = runtime.RecursiveReadOnlyDisabled
		}
		mounts[i] = m
	}
	req.Mounts = mounts
	return nil
}

// strictGroupsFault returns the error of a runtime that cannot limit the groups of a user to the
// groups of a request.
func strictGroupsFault(g greeting) error {
	return fmt.Errorf("cri: %w: %s %s cannot leave out the groups that an image has for a user", runtime.ErrUnsupported, g.name, g.version)
}

// whyNoContainer is whyNoSandbox for a container.
func (r *Runtime) whyNoContainer(ctx context.Context, req *runtime.CreateContainerRequest, err error) error {
	const verb = "CreateContainer"
	if undecided(ctx, err) {
		return err
	}
	switch s, look := r.askSandbox(ctx, req.SandboxID); {
	case errors.Is(look, runtime.ErrNotFound):
		r.records.remove(req.SandboxID)
		return look
	case look != nil:
		return err
	case s.GetState() != cri.PodSandboxState_SANDBOX_READY:
		return fmt.Errorf("cri: %w: sandbox %s is not ready: %w", runtime.ErrWrongState, req.SandboxID, err)
	}
	labels := convert.Selector(r.cfg.Owner, req.Pod.UID)
	labels[convert.LabelContainerName] = req.Name
	same, look := r.listContainers(ctx, &cri.ContainerFilter{LabelSelector: labels})
	if look != nil {
		return err
	}
	for _, c := range same {
		if c.GetMetadata().GetAttempt() == req.Attempt {
			return exists(verb, "container "+c.GetId())
		}
	}
	if reserved(err) {
		return exists(verb, "the runtime is making it")
	}
	images := []string{cmp.Or(req.ImageRef, req.Image)}
	for i := range req.Mounts {
		if image := req.Mounts[i].Image; image != "" {
			images = append(images, image)
		}
	}
	for _, image := range images {
		if _, look := r.ImageStatus(ctx, runtime.ImageStatusRequest{Image: image}); errors.Is(look, runtime.ErrNotFound) {
			return fmt.Errorf("%w: %w", look, err)
		}
	}
	return err
}

// StartContainer implements runtime.Containers.
func (r *Runtime) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	known, err := r.container(ctx, req.ContainerID)
	if err != nil {
		return err
	}
	began := r.executor.Now()
	_, err = call(ctx, r, "StartContainer", r.cfg.Deadlines.Make, r.runtime.StartContainer, &cri.StartContainerRequest{ContainerId: req.ContainerID})
	if err == nil || undecided(ctx, err) {
		return err
	}
	return r.whyNotStarted(ctx, req.ContainerID, known.sandbox, began, err)
}

// whyNotStarted tells a container that runs already from one that will never.
// One that ended before the call began has not failed to start by it.
func (r *Runtime) whyNotStarted(ctx context.Context, id, sandbox string, began time.Time, err error) error {
	c, look := r.askContainer(ctx, id)
	switch {
	case errors.Is(look, runtime.ErrNotFound):
		return look
	case look != nil:
		return err
	case c.GetState() == cri.ContainerState_CONTAINER_RUNNING:
		return nil
	case c.GetState() == cri.ContainerState_CONTAINER_EXITED && !time.Unix(0, c.GetFinishedAt()).After(began):
		return fmt.Errorf("cri: %w: container %s has exited: %w", runtime.ErrWrongState, id, err)
	}
	s, look := r.askSandbox(ctx, sandbox)
	if errors.Is(look, runtime.ErrNotFound) || look == nil && s.GetState() != cri.PodSandboxState_SANDBOX_READY {
		return fmt.Errorf("cri: %w: sandbox %s is not ready: %w", runtime.ErrWrongState, sandbox, err)
	}
	if c.GetState() == cri.ContainerState_CONTAINER_CREATED { // One whose start fails has exited.
		return fmt.Errorf("%w: %w", exists("StartContainer", "container "+id+" is being started, or removed"), err)
	}
	return err
}

// StopContainer implements runtime.Containers. That the container does not run
// any more is verified; and if the runtime says that it
// failed and the container does not run, it has been stopped.
func (r *Runtime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	id := req.ContainerID
	known, err := r.container(ctx, id)
	if err != nil {
		return err
	}
	err = r.callStop(ctx, known.sandbox, id, req.Grace)
	if err != nil && undecided(ctx, err) {
		return err
	}
	c, look := r.askContainer(ctx, id)
	switch {
	case errors.Is(look, runtime.ErrNotFound):
		return look
	case look != nil:
		return errors.Join(err, look)
	case c.GetState() == cri.ContainerState_CONTAINER_RUNNING && err == nil:
		return fmt.Errorf("%w: container %s", ErrStillRuns, id)
	case c.GetState() == cri.ContainerState_CONTAINER_EXITED, c.GetState() == cri.ContainerState_CONTAINER_CREATED:
		return nil
	}
	return err
}

// callStop makes the call when the sandbox of the container has a place for it.
func (r *Runtime) callStop(ctx context.Context, sandbox, id string, grace time.Duration) error {
	leave, err := r.stops.enter(ctx, sandbox)
	if err != nil {
		return fmt.Errorf("cri: StopContainer: %w", err)
	}
	defer leave()
	seconds, limit := r.grace(grace)
	_, err = call(ctx, r, "StopContainer", limit, r.runtime.StopContainer, &cri.StopContainerRequest{ContainerId: id, Timeout: seconds})
	return err
}

// grace is a grace in whole seconds, rounded up, as none means no asking; and
// how long a stop with it may take.
func (r *Runtime) grace(d time.Duration) (seconds int64, limit time.Duration) {
	d, limit = max(d, 0), r.cfg.Deadlines.Remove
	seconds = int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return seconds, limit + min(d, math.MaxInt64-limit-time.Second) + time.Second
}

// RemoveContainer implements runtime.Containers. CRI would kill what runs, so that is
// checked first, and with it whether it ever ran.
func (r *Runtime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	id := req.ContainerID
	_, err := r.container(ctx, id)
	if err == nil {
		err = r.mayBeRemoved(ctx, req)
	}
	if err == nil {
		_, err = call(ctx, r, "RemoveContainer", r.cfg.Deadlines.Remove, r.runtime.RemoveContainer, &cri.RemoveContainerRequest{ContainerId: id})
	}
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	r.records.remove(id)
	return nil
}

// mayBeRemoved looks at the container at the last moment. A start that a former
// agent sent may end between this look and the call: see the package's words.
func (r *Runtime) mayBeRemoved(ctx context.Context, req runtime.RemoveContainerRequest) error {
	c, err := r.askContainer(ctx, req.ContainerID)
	switch {
	case err != nil:
		return err
	case c.GetState() == cri.ContainerState_CONTAINER_RUNNING:
		return fmt.Errorf("cri: %w: container %s runs", runtime.ErrWrongState, req.ContainerID)
	case req.NeverRan && c.GetState() != cri.ContainerState_CONTAINER_CREATED:
		return fmt.Errorf("cri: %w: container %s is not one that never ran any more", runtime.ErrWrongState, req.ContainerID)
	}
	return nil
}

// UpdateContainer implements runtime.Updater. A request that asks for nothing
// is not sent.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	if _, err := r.container(ctx, req.ContainerID); err != nil {
		return err
	}
	resources := convert.Resources(r.fitting(req.Resources, "id", req.ContainerID))
	if resources == nil {
		_, err := r.askContainer(ctx, req.ContainerID)
		return err
	}
	_, err := call(ctx, r, "UpdateContainerResources", r.cfg.Deadlines.Make, r.runtime.UpdateContainerResources,
		&cri.UpdateContainerResourcesRequest{ContainerId: req.ContainerID, Linux: resources})
	return err
}

// cgroupRoot is where Linux mounts control groups.
const cgroupRoot = "/sys/fs/cgroup"

// fitting are resources without what CRI has no way to ask for on this host. CRI passes
// a limit of processes among the settings of cgroup v2 only, and a runtime on cgroup v1
// fails to start a container that has any of those. The container runs without the
// limit, and the log tells so.
func (r *Runtime) fitting(resources runtime.Resources, of ...any) runtime.Resources {
	if r.cfg.CgroupVersion != 1 || resources.PIDs == 0 {
		return resources
	}
	if resources.PIDs > 0 {
		r.cfg.Log.Warn("CRI cannot limit processes on a host with cgroup v1: there is no such limit", of...)
	}
	resources.PIDs = 0
	return resources
}

// longestPath is how long a path is at most for a kernel. A runtime that is given
// a longer one fails, if it is well: runc says what failed in so many words that
// nobody reads them to the end, and then neither it nor whoever waits for it ever
// comes back, so that the container can not even be stopped (F14).
const longestPath = 4096

// runnable is nil for a command that could be one.
func runnable(verb string, command []string) error {
	if len(command) == 0 {
		return fmt.Errorf("cri: %s: there is no command to run", verb)
	}
	return short(verb, "the name of the program", command[0])
}

// short is nil for what could be a path.
func short(verb, what, path string) error {
	if len(path) > longestPath {
		return fmt.Errorf("cri: %s: %s has %d bytes, and a path at most %d", verb, what, len(path), longestPath)
	}
	return nil
}

// pathsFit is nil if all that a container is told to find could be found. Its
// arguments are its own business, also the first where the image names the program.
func pathsFit(verb string, req *runtime.CreateContainerRequest) error {
	if len(req.Command) > 0 {
		if err := runnable(verb, req.Command); err != nil {
			return err
		}
	}
	for i := range req.Mounts {
		if err := short(verb, "the place of a mount", req.Mounts[i].ContainerPath); err != nil {
			return err
		}
	}
	return short(verb, "the working directory", req.WorkingDir)
}
