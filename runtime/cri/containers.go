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

// CreateContainer implements runtime.Containers. CRI reserves a name and attempt for the whole pod,
// so the same name and attempt in another sandbox of the pod is ErrExists too.
func (r *Runtime) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	const verb = "CreateContainer"
	name := string(req.Pod.UID) + "/" + req.Name + "/" + strconv.FormatUint(uint64(req.Attempt), 10)
	if !r.inProgress.addUnlessInProgress(name) {
		return "", existsError(verb, "the container is being created")
	}
	defer r.inProgress.finish(name)
	sandbox, err := r.findSandboxOfOwner(ctx, req.SandboxID)
	if err != nil {
		return "", err
	}
	if err := checkPathLengths(verb, &req); err != nil {
		return "", err
	}
	if err := r.checkAndAdaptContainerRequest(ctx, &req, sandbox.handler); err != nil {
		return "", err
	}
	if req.LogPath != "" && sandbox.paths.LogDir != "" {
		if err := makeLogDir(filepath.Dir(filepath.Join(sandbox.paths.LogDir, req.LogPath))); err != nil {
			return "", err
		}
	}
	req.Resources = r.dropUnsupportedPIDLimit(req.Resources, "uid", req.Pod.UID, "container", req.Name)
	res, err := callMethod(ctx, r, verb, r.cfg.Deadlines.Make, r.runtime.CreateContainer,
		convert.CreateContainer(req, sandbox.paths, sandbox.attempt, r.cfg.Owner))
	switch {
	case err != nil:
		return "", r.explainCreateContainerFailure(ctx, &req, err)
	case res.GetContainerId() == "":
		return "", fmt.Errorf("%w: a container without an ID", ErrMalformed)
	}
	r.records.add(res.GetContainerId(), cachedRecord{uid: req.Pod.UID, sandbox: req.SandboxID})
	return res.GetContainerId(), nil
}

// checkAndAdaptContainerRequest returns ErrUnsupported for a request that the runtime would silently ignore or
// misinterpret. If the runtime cannot make mounts read-only recursively, it turns that option off in mounts
// that allow this. For a mount that requires the option it returns ErrUnsupported.
func (r *Runtime) checkAndAdaptContainerRequest(ctx context.Context, req *runtime.CreateContainerRequest, handler string) error {
	if _, ok := convert.StopSignal(req.StopSignal); !ok {
		return fmt.Errorf("cri: %w: stop signal %q", runtime.ErrUnsupported, req.StopSignal)
	}
	if req.LogPath != "" && !filepath.IsLocal(req.LogPath) {
		return fmt.Errorf("cri: %w: log path %q is not below the sandbox's directory", runtime.ErrUnsupported, req.LogPath)
	}
	if err := r.ensureHandshake(ctx); err != nil {
		return err
	}
	g := r.lastHandshake()
	if req.Security.StrictGroups && !g.strictGroups {
		return strictGroupsError(g)
	}
	images, can := convert.ImageMounts(g.name, g.version), g.recursiveReadOnly[handler]
	mounts := make([]runtime.Mount, len(req.Mounts))
	for i, m := range req.Mounts {
		switch {
		case m.Image == "":
		case images == runtime.ImageMountsNone:
			return fmt.Errorf("cri: %w: %s %s cannot mount the image at %s", runtime.ErrUnsupported, g.name, g.version, m.ContainerPath)
		case images == runtime.ImageMountsWhole && m.ImageSubPath != "":
			return fmt.Errorf("cri: %w: %s %s cannot mount a directory of the image at %s", runtime.ErrUnsupported, g.name, g.version, m.ContainerPath)
		}
		if m.RecursiveReadOnly == runtime.RecursiveReadOnlyEnabled && !can {
			return fmt.Errorf("cri: %w: the mounts below %s cannot be made read-only", runtime.ErrUnsupported, m.ContainerPath)
		}
		if !can {
			m.RecursiveReadOnly = runtime.RecursiveReadOnlyDisabled
		}
		mounts[i] = m
	}
	req.Mounts = mounts
	return nil
}

// strictGroupsError builds the error for a runtime without the supplemental groups policy Strict.
func strictGroupsError(g handshakeInfo) error {
	return fmt.Errorf("cri: %w: %s %s cannot ignore the groups of the user in the image", runtime.ErrUnsupported, g.name, g.version)
}

// explainCreateContainerFailure replaces the error of a failed CreateContainer by a more exact one: the sandbox
// is gone or not ready, the container exists, or an image is absent. It returns err unchanged if it finds no
// reason. If the sandbox is gone, it also records that in the cache.
func (r *Runtime) explainCreateContainerFailure(ctx context.Context, req *runtime.CreateContainerRequest, err error) error {
	const verb = "CreateContainer"
	if isContextOrReadinessOrUnsupportedError(ctx, err) {
		return err
	}
	switch s, look := r.fetchSandboxStatus(ctx, req.SandboxID); {
	case errors.Is(look, runtime.ErrNotFound):
		r.records.markRemovedWithContainers(req.SandboxID)
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
			return existsError(verb, "container "+c.GetId())
		}
	}
	if isNameReserved(err) {
		return existsError(verb, "the runtime is creating it")
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
	known, err := r.findContainerOfOwner(ctx, req.ContainerID)
	if err != nil {
		return err
	}
	began := r.executor.Now()
	_, err = callMethod(ctx, r, "StartContainer", r.cfg.Deadlines.Make, r.runtime.StartContainer, &cri.StartContainerRequest{ContainerId: req.ContainerID})
	if err == nil || isContextOrReadinessOrUnsupportedError(ctx, err) {
		return err
	}
	return r.explainOrClearStartFailure(ctx, req.ContainerID, known.sandbox, began, err)
}

// explainOrClearStartFailure returns nil for a failed StartContainer if the container runs. If it does not run,
// the error is replaced by a more exact one, from the states of the container and the sandbox. It returns err
// unchanged if it finds no reason.
func (r *Runtime) explainOrClearStartFailure(ctx context.Context, id, sandbox string, began time.Time, err error) error {
	c, look := r.fetchContainerStatus(ctx, id)
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
	s, look := r.fetchSandboxStatus(ctx, sandbox)
	if errors.Is(look, runtime.ErrNotFound) || look == nil && s.GetState() != cri.PodSandboxState_SANDBOX_READY {
		return fmt.Errorf("cri: %w: sandbox %s is not ready: %w", runtime.ErrWrongState, sandbox, err)
	}
	if c.GetState() == cri.ContainerState_CONTAINER_CREATED { // A container whose start failed would have exited.
		return fmt.Errorf("%w: %w", existsError("StartContainer", "container "+id+" is being started, or removed"), err)
	}
	return err
}

// StopContainer implements runtime.Containers. It reads the state of the container afterwards: a
// success is an error if the container runs, and an error is a success if the container does not
// run.
func (r *Runtime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	id := req.ContainerID
	known, err := r.findContainerOfOwner(ctx, id)
	if err != nil {
		return err
	}
	err = r.waitForSlotAndStopContainer(ctx, known.sandbox, id, req.Grace)
	if err != nil && isContextOrReadinessOrUnsupportedError(ctx, err) {
		return err
	}
	c, look := r.fetchContainerStatus(ctx, id)
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

// waitForSlotAndStopContainer waits until the queue of the sandbox admits one more concurrent stop, and then
// calls StopContainer of the runtime. It returns an error if ctx ends first or StopContainer fails.
func (r *Runtime) waitForSlotAndStopContainer(ctx context.Context, sandbox, id string, grace time.Duration) error {
	leave, err := r.containerStops.waitUntilStopMayBegin(ctx, sandbox)
	if err != nil {
		return fmt.Errorf("cri: StopContainer: %w", err)
	}
	defer leave()
	seconds, limit := r.stopTimeouts(grace)
	_, err = callMethod(ctx, r, "StopContainer", limit, r.runtime.StopContainer, &cri.StopContainerRequest{ContainerId: id, Timeout: seconds})
	return err
}

// stopTimeouts returns the grace period for a StopContainer call, in whole seconds, and the timeout of the
// call. The grace period is rounded up, because zero seconds would send no signal. The timeout is at least the
// grace period plus Deadlines.Remove.
func (r *Runtime) stopTimeouts(grace time.Duration) (seconds int64, limit time.Duration) {
	grace, limit = max(grace, 0), r.cfg.Deadlines.Remove
	seconds = int64(grace / time.Second)
	if grace%time.Second > 0 {
		seconds++
	}
	return seconds, limit + min(grace, math.MaxInt64-limit-time.Second) + time.Second
}

// RemoveContainer implements runtime.Containers. CRI would kill a running container, so the state
// is checked before.
func (r *Runtime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	id := req.ContainerID
	_, err := r.findContainerOfOwner(ctx, id)
	if err == nil {
		err = r.checkRemovable(ctx, req)
	}
	if err == nil {
		_, err = callMethod(ctx, r, "RemoveContainer", r.cfg.Deadlines.Remove, r.runtime.RemoveContainer, &cri.RemoveContainerRequest{ContainerId: id})
	}
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	r.records.markRemovedWithContainers(id)
	return nil
}

// checkRemovable returns ErrWrongState if the container runs. It also returns ErrWrongState if the request says
// NeverRan and the container has run. A start by a crashed agent may still take effect between this check and
// the removal; see the package comment.
func (r *Runtime) checkRemovable(ctx context.Context, req runtime.RemoveContainerRequest) error {
	c, err := r.fetchContainerStatus(ctx, req.ContainerID)
	switch {
	case err != nil:
		return err
	case c.GetState() == cri.ContainerState_CONTAINER_RUNNING:
		return fmt.Errorf("cri: %w: container %s runs", runtime.ErrWrongState, req.ContainerID)
	case req.NeverRan && c.GetState() != cri.ContainerState_CONTAINER_CREATED:
		return fmt.Errorf("cri: %w: container %s has already run", runtime.ErrWrongState, req.ContainerID)
	}
	return nil
}

// UpdateContainer implements runtime.Updater. It does not send a request without resources.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	if _, err := r.findContainerOfOwner(ctx, req.ContainerID); err != nil {
		return err
	}
	resources := convert.Resources(r.dropUnsupportedPIDLimit(req.Resources, "id", req.ContainerID))
	if resources == nil {
		_, err := r.fetchContainerStatus(ctx, req.ContainerID)
		return err
	}
	_, err := callMethod(ctx, r, "UpdateContainerResources", r.cfg.Deadlines.Make, r.runtime.UpdateContainerResources,
		&cri.UpdateContainerResourcesRequest{ContainerId: req.ContainerID, Linux: resources})
	return err
}

// cgroupRoot is the mount point of the cgroup file system.
const cgroupRoot = "/sys/fs/cgroup"

// dropUnsupportedPIDLimit returns a copy of the resources without the PID limit on a host with cgroup v1, and
// logs a warning if there was a limit. CRI can pass a PID limit only as a cgroup v2 setting, and on cgroup v1 a
// runtime fails to start a container with such a setting.
func (r *Runtime) dropUnsupportedPIDLimit(resources runtime.Resources, logAttrs ...any) runtime.Resources {
	if r.cfg.CgroupVersion != 1 || resources.PIDs == 0 {
		return resources
	}
	if resources.PIDs > 0 {
		r.cfg.Log.Warn("the container runs without PID limit: CRI has none for cgroup v1", logAttrs...)
	}
	resources.PIDs = 0
	return resources
}

// maxPathBytes is the maximum length of a path for the kernel. With a longer path runc prints an
// error so long that nothing reads all of it. runc and the shim then hang, and the container cannot
// be stopped (F14).
const maxPathBytes = 4096

// checkCommand returns an error if a command is empty or its program name is longer than maxPathBytes.
func checkCommand(verb string, command []string) error {
	if len(command) == 0 {
		return fmt.Errorf("cri: %s: the command is empty", verb)
	}
	return checkPathLength(verb, "the name of the program", command[0])
}

// checkPathLength returns an error if a path is longer than maxPathBytes. verb and what are words of the error
// text.
func checkPathLength(verb, what, path string) error {
	if len(path) > maxPathBytes {
		return fmt.Errorf("cri: %s: %s has %d bytes, more than the %d of a path", verb, what, len(path), maxPathBytes)
	}
	return nil
}

// checkPathLengths returns an error if the program name, a mount path in the container or the working directory
// of a container is longer than maxPathBytes. Arguments are not paths, so they are not checked.
func checkPathLengths(verb string, req *runtime.CreateContainerRequest) error {
	if len(req.Command) > 0 {
		if err := checkCommand(verb, req.Command); err != nil {
			return err
		}
	}
	for i := range req.Mounts {
		if err := checkPathLength(verb, "the path of a mount", req.Mounts[i].ContainerPath); err != nil {
			return err
		}
	}
	return checkPathLength(verb, "the working directory", req.WorkingDir)
}
