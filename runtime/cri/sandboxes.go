package cri

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// RunSandbox implements runtime.Sandboxes.
func (r *Runtime) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	const verb = "RunPodSandbox"
	name := string(req.Pod.UID) + "/" + strconv.FormatUint(uint64(req.Attempt), 10)
	if !r.inProgress.addUnlessInProgress(name) {
		return "", existsError(verb, "the sandbox is being created")
	}
	defer r.inProgress.finish(name)
	if err := r.ensureHandshake(ctx); err != nil {
		return "", err
	}
	if req.Namespaces.Users != nil && !r.lastHandshake().userNamespaces[req.Handler] {
		return "", fmt.Errorf("cri: %w: the runtime supports no user namespaces for handler %q", runtime.ErrUnsupported, req.Handler)
	}
	if g := r.lastHandshake(); req.Security.StrictGroups && !g.strictGroups {
		return "", strictGroupsError(g)
	}
	if err := makeLogDir(req.LogDir); err != nil {
		return "", err
	}
	req.Resources = r.dropUnsupportedPIDLimit(req.Resources, "uid", req.Pod.UID)
	asked := convert.RunSandbox(req, r.cfg.Owner)
	res, err := callMethod(ctx, r, verb, r.cfg.Deadlines.Make, r.runtime.RunPodSandbox, asked)
	switch {
	case err != nil:
		return "", r.explainRunSandboxFailure(ctx, &req, err)
	case res.GetPodSandboxId() == "":
		return "", fmt.Errorf("%w: a sandbox without an ID", ErrMalformed)
	}
	r.records.add(res.GetPodSandboxId(), cachedRecord{
		uid: req.Pod.UID, attempt: req.Attempt, handler: req.Handler, paths: convert.SandboxContextFromAnnotations(asked.GetConfig().GetAnnotations()),
	})
	return res.GetPodSandboxId(), nil
}

// explainRunSandboxFailure replaces the error of a failed RunPodSandbox by a more exact one: the sandbox
// exists, perhaps with another owner, or its name is reserved, or the network is not ready. It returns err
// unchanged if it finds no reason. The gRPC code does not show the reason.
func (r *Runtime) explainRunSandboxFailure(ctx context.Context, req *runtime.RunSandboxRequest, err error) error {
	const verb = "RunPodSandbox"
	if isContextOrReadinessOrUnsupportedError(ctx, err) {
		return err
	}
	// Of any owner: the runtime reserves names across owners.
	labels := map[string]string{convert.LabelPodUID: string(req.Pod.UID)}
	same, look := r.listSandboxes(ctx, &cri.PodSandboxFilter{LabelSelector: labels})
	if look != nil {
		return err
	}
	for _, s := range same {
		if s.GetMetadata().GetAttempt() != req.Attempt {
			continue
		}
		if s.GetLabels()[convert.LabelOwner] != r.cfg.Owner {
			return fmt.Errorf("%w: sandbox %s: %w", ErrForeign, s.GetId(), err)
		}
		return existsError(verb, "sandbox "+s.GetId())
	}
	if isNameReserved(err) {
		return existsError(verb, "the runtime is creating it")
	}
	if st, look := r.RuntimeStatus(ctx); look == nil && !st.NetworkReady && !req.Namespaces.HostNetwork {
		return fmt.Errorf("cri: %w: %s: %w", runtime.ErrNetworkNotReady, st.NetworkMessage, err)
	}
	return err
}

// StopSandbox implements runtime.Sandboxes. It checks afterwards that the sandbox and its
// containers do not run.
func (r *Runtime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	id := req.SandboxID
	if _, err := r.findSandboxOfOwner(ctx, id); err != nil {
		return err
	}
	if err := stopOrRemoveSandbox(ctx, r, id, "StopPodSandbox", r.runtime.StopPodSandbox, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	var errs [2]error
	executor.Each(r.executor, 0, 2, func(i int) {
		if i == 0 {
			errs[i] = r.checkSandboxStopped(ctx, id)
			return
		}
		errs[i] = r.checkContainersStopped(ctx, id)
	})
	return errors.Join(errs[:]...)
}

// stopOrRemoveSandbox waits until no other stop or removal of the sandbox is in progress. It then makes the CRI
// call f, which is StopPodSandbox or RemovePodSandbox. It returns an error if ctx ends during the wait, or if f
// fails.
func stopOrRemoveSandbox[Q, R any](ctx context.Context, r *Runtime, id, verb string, f grpcMethod[Q, R], req Q) error {
	leave, err := r.sandboxStops.waitUntilStopMayBegin(ctx, id)
	if err != nil {
		return fmt.Errorf("cri: %s: %w", verb, err)
	}
	defer leave()
	_, err = callMethod(ctx, r, verb, r.cfg.Deadlines.Remove, f, req)
	return err
}

// checkSandboxStopped returns ErrStillRuns if a sandbox is ready. It returns nil if the sandbox was removed,
// because a removed sandbox is stopped.
func (r *Runtime) checkSandboxStopped(ctx context.Context, id string) error {
	s, err := r.fetchSandboxStatus(ctx, id)
	if err == nil && s.GetState() == cri.PodSandboxState_SANDBOX_READY {
		err = fmt.Errorf("%w: sandbox %s", ErrStillRuns, id)
	}
	if errors.Is(err, runtime.ErrNotFound) {
		return nil // A removed sandbox is stopped.
	}
	return err
}

// checkContainersStopped returns ErrStillRuns if a container of a sandbox runs.
func (r *Runtime) checkContainersStopped(ctx context.Context, sandbox string) error {
	list, err := r.listContainers(ctx, &cri.ContainerFilter{PodSandboxId: sandbox, LabelSelector: convert.Selector(r.cfg.Owner, "")})
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.GetState() == cri.ContainerState_CONTAINER_RUNNING {
			return fmt.Errorf("%w: container %s of sandbox %s", ErrStillRuns, c.GetId(), sandbox)
		}
	}
	return nil
}

// RemoveSandbox implements runtime.Sandboxes.
func (r *Runtime) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	id := req.SandboxID
	_, err := r.findSandboxOfOwner(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = stopOrRemoveSandbox(ctx, r, id, "RemovePodSandbox", r.runtime.RemovePodSandbox, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	r.records.markRemovedWithContainers(id)
	return nil
}
