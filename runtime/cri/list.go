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

// ownedRecords are the records of an owner, or of one pod of the owner.
type ownedRecords struct {
	sandboxes  []*cri.PodSandbox
	containers []*cri.Container
}

// ListPods implements runtime.PodLister. It returns ErrNotReady if the runtime reports that it is
// not ready.
func (r *Runtime) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	l, err := r.listRecordsIfReady(ctx, "")
	if err != nil {
		return nil, err
	}
	r.records.updateFromListAndDropMissing(l)
	pods, skipped := convert.Pods(l.sandboxes, l.containers, r.cfg.Owner)
	r.logAndReportSkipped(ctx, skipped)
	return pods, nil
}

// logAndReportSkipped logs each skipped sandbox or container, which belongs to no pod of this owner, and passes
// it to Hooks.Skipped.
func (r *Runtime) logAndReportSkipped(ctx context.Context, skipped []convert.Skipped) {
	for _, s := range skipped {
		r.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "the runtime lists a record that belongs to no pod of this owner",
			slog.String("kind", s.Kind), slog.String("id", s.ID), slog.String("reason", s.Reason))
		r.cfg.Hooks.Skipped(Skipped(s))
	}
}

// listRecordsIfReady lists the sandboxes and containers of a pod, or of all pods of this owner if uid is empty.
// It returns an error if the runtime is not ready; that check runs at the same time.
func (r *Runtime) listRecordsIfReady(ctx context.Context, uid types.UID) (*ownedRecords, error) {
	var l ownedRecords
	var errs [3]error
	labels := convert.Selector(r.cfg.Owner, uid)
	executor.Each(r.executor, 0, 3, func(i int) {
		switch i {
		case 0:
			errs[i] = r.checkReadyIgnoringNetwork(ctx)
		case 1:
			l.sandboxes, errs[i] = r.listSandboxes(ctx, &cri.PodSandboxFilter{LabelSelector: labels})
		case 2:
			l.containers, errs[i] = r.listContainers(ctx, &cri.ContainerFilter{LabelSelector: labels})
		}
	})
	for _, err := range errs { // All errors may have the same cause; the first is the clearest.
		if err != nil {
			return nil, err
		}
	}
	return &l, nil
}

// checkReadyIgnoringNetwork returns ErrNotReady if the runtime reports that it is not ready. A network that is
// not ready gives no error, because lists do not need it.
func (r *Runtime) checkReadyIgnoringNetwork(ctx context.Context) error {
	st, err := r.RuntimeStatus(ctx)
	if err == nil && !st.RuntimeReady {
		err = fmt.Errorf("cri: %w: %s", runtime.ErrNotReady, st.RuntimeMessage)
	}
	return err
}

// listSandboxes lists the sandboxes that match filter in one message. If the list is too large for a message,
// it reads the list as a stream. If the stream is not supported or also too large, it makes one list call for
// ready sandboxes and one for sandboxes that are not ready. (F63)
func (r *Runtime) listSandboxes(ctx context.Context, filter *cri.PodSandboxFilter) ([]*cri.PodSandbox, error) {
	list, err := callRead(ctx, r, "ListPodSandbox", r.runtime.ListPodSandbox, &cri.ListPodSandboxRequest{Filter: filter})
	if grpcCode(err) != codes.ResourceExhausted {
		return list.GetItems(), err
	}
	all, err := readListStream(ctx, r, "StreamPodSandboxes", r.runtime.StreamPodSandboxes,
		&cri.StreamPodSandboxesRequest{Filter: filter}, (*cri.StreamPodSandboxesResponse).GetPodSandboxes)
	if !isTooLongOrUnsupported(err) {
		return all, err
	}
	all = nil
	for _, state := range []cri.PodSandboxState{cri.PodSandboxState_SANDBOX_READY, cri.PodSandboxState_SANDBOX_NOTREADY} {
		part := &cri.PodSandboxFilter{LabelSelector: filter.GetLabelSelector(), State: &cri.PodSandboxStateValue{State: state}}
		list, err := callRead(ctx, r, "ListPodSandbox", r.runtime.ListPodSandbox, &cri.ListPodSandboxRequest{Filter: part})
		if err != nil {
			return nil, err
		}
		all = append(all, list.GetItems()...)
	}
	return all, nil
}

// isTooLongOrUnsupported reports whether reading a list as a stream failed because the runtime has no list
// streams, or because one message was too large. For example, containerd 2.4 sends the whole list in one
// message of the stream.
func isTooLongOrUnsupported(err error) bool {
	return errors.Is(err, runtime.ErrUnsupported) || grpcCode(err) == codes.ResourceExhausted
}

// listContainers lists the containers that match filter in one message. If the list is too large for a message,
// it reads the list as a stream. If a stream is not possible either, it makes one list call per state, and per
// sandbox where necessary; only the filter's labels are used then.
func (r *Runtime) listContainers(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error) {
	list, err := callRead(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: filter})
	if grpcCode(err) != codes.ResourceExhausted {
		return list.GetContainers(), err
	}
	all, err := readListStream(ctx, r, "StreamContainers", r.runtime.StreamContainers,
		&cri.StreamContainersRequest{Filter: filter}, (*cri.StreamContainersResponse).GetContainers)
	if !isTooLongOrUnsupported(err) {
		return all, err
	}
	return r.listContainersByState(ctx, filter.GetLabelSelector())
}

// listContainersByState makes one list call per container state and returns the results together. If the result
// for a state is too large for a message, it lists that state sandbox by sandbox.
func (r *Runtime) listContainersByState(ctx context.Context, labels map[string]string) ([]*cri.Container, error) {
	var all []*cri.Container
	for _, state := range []cri.ContainerState{
		cri.ContainerState_CONTAINER_CREATED, cri.ContainerState_CONTAINER_RUNNING,
		cri.ContainerState_CONTAINER_EXITED, cri.ContainerState_CONTAINER_UNKNOWN,
	} {
		part := &cri.ContainerFilter{LabelSelector: labels, State: &cri.ContainerStateValue{State: state}}
		list, err := callRead(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: part})
		found := list.GetContainers()
		if grpcCode(err) == codes.ResourceExhausted {
			found, err = r.listContainersBySandbox(ctx, part)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// listContainersBySandbox makes one list call per sandbox, with the labels and the state of filter, and returns
// the results together. It misses containers whose sandbox was removed, because no filter finds them.
func (r *Runtime) listContainersBySandbox(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error) {
	sandboxes, err := r.listSandboxes(ctx, &cri.PodSandboxFilter{LabelSelector: filter.GetLabelSelector()})
	if err != nil {
		return nil, err
	}
	var all []*cri.Container
	for _, s := range sandboxes {
		part := &cri.ContainerFilter{LabelSelector: filter.GetLabelSelector(), State: filter.GetState(), PodSandboxId: s.GetId()}
		list, err := callRead(ctx, r, "ListContainers", r.runtime.ListContainers, &cri.ListContainersRequest{Filter: part})
		if err != nil {
			return nil, err
		}
		all = append(all, list.GetContainers()...)
	}
	return all, nil
}

// readListStream reads a whole list from a stream. If the runtime does not support list streams, it returns
// ErrUnsupported and records that, so that later calls on the same connection fail without a request.
func readListStream[Q, S, E any](ctx context.Context, r *Runtime, verb string, open grpcMethod[Q, grpc.ServerStreamingClient[S]], req Q, items func(*S) []E) ([]E, error) {
	if r.lastHandshake().noListStreams {
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
	err = r.translateError(ctx, verb, err)
	if errors.Is(err, runtime.ErrUnsupported) {
		r.mu.Lock()
		r.handshake.noListStreams = true
		r.mu.Unlock()
	}
	return nil, err
}
