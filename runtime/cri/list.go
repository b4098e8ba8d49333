package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// lists are what a runtime has of an owner, or of one of his pods.
type lists struct {
	sandboxes  []*cri.PodSandbox
	containers []*cri.Container
}

// ListPods implements runtime.PodLister. A runtime that says it is not ready is
// not believed that anything is absent.
func (r *Runtime) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	l, err := r.list(ctx, "")
	if err != nil {
		return nil, err
	}
	r.records.listed(l)
	pods, skipped := convert.Pods(l.sandboxes, l.containers, r.cfg.Owner)
	r.report(ctx, skipped)
	return pods, nil
}

// report tells of records that are nobody's.
func (r *Runtime) report(ctx context.Context, skipped []convert.Skipped) {
	for _, s := range skipped {
		r.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "the runtime lists a record that cannot be attributed to a pod",
			slog.String("kind", s.Kind), slog.String("id", s.ID), slog.String("reason", s.Reason))
		r.cfg.Hooks.Skipped(Skipped(s))
	}
}

// list asks for both lists, and whether they can be relied on, at once.
func (r *Runtime) list(ctx context.Context, uid types.UID) (*lists, error) {
	var l lists
	var errs [3]error
	labels := convert.Selector(r.cfg.Owner, uid)
	executor.Each(r.executor, 0, 3, func(i int) {
		switch i {
		case 0:
			errs[i] = r.reliable(ctx)
		case 1:
			l.sandboxes, errs[i] = r.listSandboxes(ctx, &cri.PodSandboxFilter{LabelSelector: labels})
		case 2:
			l.containers, errs[i] = r.listContainers(ctx, &cri.ContainerFilter{LabelSelector: labels})
		}
	})
	for _, err := range errs { // The first says it best; all may be of one cause.
		if err != nil {
			return nil, err
		}
	}
	return &l, nil
}

// reliable fails if the runtime says that it is not ready. Its network is of no
// concern to lists.
func (r *Runtime) reliable(ctx context.Context) error {
	st, err := r.RuntimeStatus(ctx)
	if err == nil && !st.RuntimeReady {
		err = fmt.Errorf("cri: %w: %s", runtime.ErrNotReady, st.RuntimeMessage)
	}
	return err
}

// listSandboxes lists in one message, or in several if it is too long for that
// (F63): as a stream where the runtime has one, otherwise by state.
func (r *Runtime) listSandboxes(ctx context.Context, filter *cri.PodSandboxFilter) ([]*cri.PodSandbox, error) {
	list, err := read(ctx, r, "ListPodSandbox", r.runtime.ListPodSandbox, &cri.ListPodSandboxRequest{Filter: filter})
	if code(err) != codes.ResourceExhausted {
		return list.GetItems(), err
	}
	all, err := streamed(ctx, r, "StreamPodSandboxes", r.runtime.StreamPodSandboxes,
		&cri.StreamPodSandboxesRequest{Filter: filter}, (*cri.StreamPodSandboxesResponse).GetPodSandboxes)
	if !noParts(err) {
		return all, err
	}
	all = nil
	for _, state := range []cri.PodSandboxState{cri.PodSandboxState_SANDBOX_READY, cri.PodSandboxState_SANDBOX_NOTREADY} {
		part := &cri.PodSandboxFilter{LabelSelector: filter.GetLabelSelector(), State: &cri.PodSandboxStateValue{State: state}}
		list, err := read(ctx, r, "ListPodSandbox", r.runtime.ListPodSandbox, &cri.ListPodSandboxRequest{Filter: part})
		if err != nil {
			return nil, err
		}
		all = append(all, list.GetItems()...)
	}
	return all, nil
}

// noParts reports whether a list does not come in parts, or in parts that are too
// long themselves: containerd 2.4 sends all in one.
func noParts(err error) bool {
	return errors.Is(err, runtime.ErrUnsupported) || code(err) == codes.ResourceExhausted
}

// listContainers is listSandboxes for containers, of which there are more: those
// of one state may be too long for a message even so.
func (r *Runtime) listContainers(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error) {
	list, err := read(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: filter})
	if code(err) != codes.ResourceExhausted {
		return list.GetContainers(), err
	}
	all, err := streamed(ctx, r, "StreamContainers", r.runtime.StreamContainers,
		&cri.StreamContainersRequest{Filter: filter}, (*cri.StreamContainersResponse).GetContainers)
	if !noParts(err) {
		return all, err
	}
	return r.containersByState(ctx, filter.GetLabelSelector())
}

// containersByState is the list in four parts; one that is too long even so is
// put together by sandbox.
func (r *Runtime) containersByState(ctx context.Context, labels map[string]string) ([]*cri.Container, error) {
	var all []*cri.Container
	for _, state := range []cri.ContainerState{
		cri.ContainerState_CONTAINER_CREATED, cri.ContainerState_CONTAINER_RUNNING,
		cri.ContainerState_CONTAINER_EXITED, cri.ContainerState_CONTAINER_UNKNOWN,
	} {
		part := &cri.ContainerFilter{LabelSelector: labels, State: &cri.ContainerStateValue{State: state}}
		list, err := read(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: part})
		found := list.GetContainers()
		if code(err) == codes.ResourceExhausted {
			found, err = r.containersBySandbox(ctx, part)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// containersBySandbox is the list put together by sandbox: it lacks containers
// whose sandbox is gone, which no filter finds.
func (r *Runtime) containersBySandbox(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error) {
	sandboxes, err := r.listSandboxes(ctx, &cri.PodSandboxFilter{LabelSelector: filter.GetLabelSelector()})
	if err != nil {
		return nil, err
	}
	var all []*cri.Container
	for _, s := range sandboxes {
		part := &cri.ContainerFilter{LabelSelector: filter.GetLabelSelector(), State: filter.GetState(), PodSandboxId: s.GetId()}
		list, err := read(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: part})
		if err != nil {
			return nil, err
		}
		all = append(all, list.GetContainers()...)
	}
	return all, nil
}

// streamed reads a list that comes in parts. A runtime that cannot is asked
// once per connection.
func streamed[Q, S, E any](ctx context.Context, r *Runtime, verb string, open method[Q, grpc.ServerStreamingClient[S]], req Q, items func(*S) []E) ([]E, error) {
	if r.greeted().noStreams {
		return nil, fmt.Errorf("cri: %s: %w", verb, runtime.ErrUnsupported)
	}
	within, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(r.cfg.Deadlines.Read))
	defer cancel()
	stream, err := open(within, req)
	var all []E
	for err == nil {
		var part *S
		if part, err = stream.Recv(); err == nil {
			all = append(all, items(part)...)
		}
	}
	if errors.Is(err, io.EOF) {
		return all, nil
	}
	err = r.failed(ctx, verb, err)
	if errors.Is(err, runtime.ErrUnsupported) {
		r.mu.Lock()
		r.greeting.noStreams = true
		r.mu.Unlock()
	}
	return nil, err
}
