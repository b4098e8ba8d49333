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
	if !r.making.begin(name) {
		return "", exists(verb, "the sandbox is being made")
	}
	defer r.making.end(name)
	if err := r.greet(ctx); err != nil {
		return "", err
	}
	if req.Namespaces.Users != nil && !r.greeted().users[req.Handler] {
		return "", fmt.Errorf("cri: %w: the runtime maps no users for handler %q", runtime.ErrUnsupported, req.Handler)
	}
	if g := r.greeted(); req.Security.StrictGroups && !g.strictGroups {
		return "", strictGroupsFault(g)
	}
	if err := makeLogDir(req.LogDir); err != nil {
		return "", err
	}
	req.Resources = r.fitting(req.Resources, "uid", req.Pod.UID)
	asked := convert.RunSandbox(req, r.cfg.Owner)
	res, err := call(ctx, r, verb, r.cfg.Deadlines.Make, r.runtime.RunPodSandbox, asked)
	switch {
	case err != nil:
		return "", r.whyNoSandbox(ctx, &req, err)
	case res.GetPodSandboxId() == "":
		return "", fmt.Errorf("%w: a sandbox without an ID", ErrMalformed)
	}
	r.records.add(res.GetPodSandboxId(), record{
		uid: req.Pod.UID, attempt: req.Attempt, handler: req.Handler, place: convert.PlaceOf(asked.GetConfig().GetAnnotations()),
	})
	return res.GetPodSandboxId(), nil
}

// whyNoSandbox looks for the reason of a failure, as codes do not tell it. What
// is found is named by our error; what is not stays as it is.
func (r *Runtime) whyNoSandbox(ctx context.Context, req *runtime.RunSandboxRequest, err error) error {
	const verb = "RunPodSandbox"
	if undecided(ctx, err) {
		return err
	}
	// Of any owner: a name is taken for all of them.
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
		return exists(verb, "sandbox "+s.GetId())
	}
	if reserved(err) {
		return exists(verb, "the runtime is making it")
	}
	if st, look := r.RuntimeStatus(ctx); look == nil && !st.NetworkReady && !req.Namespaces.HostNetwork {
		return fmt.Errorf("cri: %w: %s: %w", runtime.ErrNetworkNotReady, st.NetworkMessage, err)
	}
	return err
}

// StopSandbox implements runtime.Sandboxes. That nothing runs any more is verified.
func (r *Runtime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	id := req.SandboxID
	if _, err := r.sandbox(ctx, id); err != nil {
		return err
	}
	if err := callEnd(ctx, r, id, "StopPodSandbox", r.runtime.StopPodSandbox, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	var errs [2]error
	executor.Each(r.executor, 0, 2, func(i int) {
		if i == 0 {
			errs[i] = r.sandboxStopped(ctx, id)
			return
		}
		errs[i] = r.containersStopped(ctx, id)
	})
	return errors.Join(errs[:]...)
}

// callEnd makes a call that stops or removes a sandbox when no other one is under way.
func callEnd[Q, R any](ctx context.Context, r *Runtime, id, verb string, f method[Q, R], req Q) error {
	leave, err := r.ends.enter(ctx, id)
	if err != nil {
		return fmt.Errorf("cri: %s: %w", verb, err)
	}
	defer leave()
	_, err = call(ctx, r, verb, r.cfg.Deadlines.Remove, f, req)
	return err
}

func (r *Runtime) sandboxStopped(ctx context.Context, id string) error {
	s, err := r.askSandbox(ctx, id)
	if err == nil && s.GetState() == cri.PodSandboxState_SANDBOX_READY {
		err = fmt.Errorf("%w: sandbox %s", ErrStillRuns, id)
	}
	if errors.Is(err, runtime.ErrNotFound) {
		return nil // What is gone is stopped.
	}
	return err
}

func (r *Runtime) containersStopped(ctx context.Context, sandbox string) error {
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
	_, err := r.sandbox(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = callEnd(ctx, r, id, "RemovePodSandbox", r.runtime.RemovePodSandbox, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	r.records.remove(id)
	return nil
}
