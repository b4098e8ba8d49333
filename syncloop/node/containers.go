package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
	"github.com/podkeel/podkeel/syncloop/node/explain"
)

const (
	// defaultContainer is the annotation by which a pod says which of its
	// containers people mean.
	defaultContainer = "kubectl.kubernetes.io/default-container"
	// execOutput is how much of a command's output is kept by a runtime that does
	// not stream it.
	execOutput = 1 << 20
)

// ContainerID returns the ID of the newest container of this name in a pod, as the runtime shows it
// now. With previous it returns the container of lastState.terminated in the pod's status, as
// kubectl logs --previous does: while a container waits for its restart, that is the newest one. If
// the status has no such state, it returns the container before the newest one.
//
// If container is empty, it is the one that the pod's annotation
// kubectl.kubernetes.io/default-container names, or else its first. Of several pods of the name the
// first in explain.Order that has the container counts. An error that wraps runtime.ErrNotFound
// says what is missing.
func (n *Node) ContainerID(ctx context.Context, namespace, pod, container string, previous bool) (string, error) {
	uids := n.named(namespace, pod)
	if len(uids) == 0 {
		return "", fmt.Errorf("node: there is no pod %q in namespace %q: %w", pod, namespace, runtime.ErrNotFound)
	}
	var missing error
	for _, uid := range uids {
		id, err := n.PodContainerID(ctx, uid, container, previous)
		switch {
		case err == nil:
			return id, nil
		case !errors.Is(err, runtime.ErrNotFound):
			return "", err
		case missing == nil:
			missing = fmt.Errorf("node: pod %s/%s: %w", namespace, pod, err)
		}
	}
	return "", missing
}

// PodContainerID is ContainerID for one pod, whose UID is known: it never returns a container of
// another pod of the same name. It is called once for each request of a client, concurrently. An
// error that wraps runtime.ErrNotFound names the missing container; another error is the runtime's.
func (n *Node) PodContainerID(ctx context.Context, uid types.UID, container string, previous bool) (string, error) {
	status, err := contain.NewRuntime(n.guard, n.config.Runtime).PodStatus(ctx, uid)
	if err != nil {
		return "", err
	}
	name := cmp.Or(container, n.meant(uid))
	ended := n.lastEnded(uid, name)
	if previous && slices.ContainsFunc(status.Containers, func(c runtime.ContainerStatus) bool { return c.ID == ended }) {
		return ended, nil
	}
	return made(status, name, previous)
}

// SandboxID returns the ID of the newest sandbox of a pod, as the runtime shows it now. Of several
// pods of the name the first in explain.Order that has a sandbox counts. An error that wraps
// runtime.ErrNotFound says what is missing.
func (n *Node) SandboxID(ctx context.Context, namespace, pod string) (string, error) {
	for _, uid := range n.named(namespace, pod) {
		if id, err := n.PodSandboxID(ctx, uid); !errors.Is(err, runtime.ErrNotFound) {
			return id, err
		}
	}
	return "", fmt.Errorf("node: pod %q in namespace %q has no sandbox: %w", pod, namespace, runtime.ErrNotFound)
}

// PodSandboxID is SandboxID for one pod, whose UID is known: it never returns the sandbox of
// another pod of the same name. It is called like PodContainerID.
func (n *Node) PodSandboxID(ctx context.Context, uid types.UID) (string, error) {
	status, err := contain.NewRuntime(n.guard, n.config.Runtime).PodStatus(ctx, uid)
	if err != nil {
		return "", err
	}
	if len(status.Sandboxes) == 0 {
		return "", fmt.Errorf("the runtime has no sandbox of it: %w", runtime.ErrNotFound)
	}
	return status.Sandboxes[0].ID, nil
}

// lastEnded is the container that has ended last of those that are to be, or were, started again;
// empty if the status of the pod has none.
func (n *Node) lastEnded(uid types.UID, name string) (id string) {
	n.status.ReadPodStatus(uid, func(s *v1.PodStatus) {
		for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
			if end := c.LastTerminationState.Terminated; c.Name == name && end != nil {
				_, id, _ = strings.Cut(end.ContainerID, "://")
			}
		}
	})
	return id
}

// named are the pods of a name, in the order of explain.Order.
func (n *Node) named(namespace, name string) []types.UID {
	var uids []types.UID
	for _, pod := range n.manager.GetPodsOfName(namespace, name) {
		uids = append(uids, pod.UID)
	}
	uids = append(uids, n.historyStore.named(namespace, name)...)
	for _, pod := range n.pleg.Pods() {
		if pod.Namespace == namespace && pod.Name == name {
			uids = append(uids, pod.UID)
		}
	}
	namesakes := make([]explain.Namesake, len(uids))
	for i, uid := range uids {
		_, desired := n.manager.GetPodByUID(uid)
		namesakes[i] = explain.Namesake{UID: uid, Desired: desired, Admitted: n.workers.View(uid).Known}
	}
	return explain.Order(namesakes)
}

// meant is the container that people mean who name none; empty if nobody knows
// what the pod was.
func (n *Node) meant(uid types.UID) string {
	pod, ok := n.manager.GetPodByUID(uid)
	if !ok || len(pod.Spec.Containers) == 0 {
		return ""
	}
	if name := pod.Annotations[defaultContainer]; hasContainer(pod, name) {
		return name
	}
	return pod.Spec.Containers[0].Name
}

func hasContainer(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == name })
}

// made is the newest container of a name, or the one before it. Without a name
// there has to be one container only.
func made(status *runtime.PodStatus, name string, previous bool) (string, error) {
	var names []string
	for _, c := range status.Containers {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	if name == "" {
		if len(names) != 1 {
			return "", fmt.Errorf("name one of its containers, %s: %w", list(names), runtime.ErrNotFound)
		}
		name = names[0]
	}
	var ids []string
	for _, c := range status.Containers { // Newest first.
		if c.Name == name {
			ids = append(ids, c.ID)
		}
	}
	switch {
	case len(ids) > 0 && !previous:
		return ids[0], nil
	case len(ids) > 1:
		return ids[1], nil
	case len(ids) == 1:
		return "", fmt.Errorf("container %q has no earlier one any more: %w", name, runtime.ErrNotFound)
	}
	return "", fmt.Errorf("the runtime has no container %q of it, but %s: %w", name, list(names), runtime.ErrNotFound)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ReadLog implements runtime.LogReader by the node's runtime. If that is none, the
// error wraps runtime.ErrUnsupported.
func (n *Node) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	logs := feature[runtime.LogReader](n)
	if logs == nil {
		return fmt.Errorf("node: the runtime keeps no logs: %w", runtime.ErrUnsupported)
	}
	return logs.ReadLog(ctx, req, w)
}

// ExecStream implements runtime.ExecStreamer by the node's runtime. If that is
// none but an Execer, the output comes at the end, all of it on Stdout and no more
// than a mebibyte, and there is no input. Otherwise the error wraps
// runtime.ErrUnsupported.
func (n *Node) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	if streamer := feature[runtime.ExecStreamer](n); streamer != nil {
		exitCode, err = streamer.ExecStream(ctx, req, streams)
		return exitCode, n.whichStopped(req.ContainerID, err)
	}
	execer := feature[runtime.Execer](n)
	if execer == nil || req.TTY || streams.Stdin != nil {
		return 0, fmt.Errorf("node: the runtime runs no such commands: %w", runtime.ErrUnsupported)
	}
	result, err := execer.Exec(ctx, runtime.ExecRequest{ContainerID: req.ContainerID, Command: req.Command, OutputLimit: execOutput})
	if err == nil && streams.Stdout != nil {
		_, err = streams.Stdout.Write(result.Output)
	}
	return result.ExitCode, n.whichStopped(req.ContainerID, err)
}

// whichStopped names the container, with why it waits, in an error of the runtime that it does
// not run: people asked for it by its name, and not by an ID.
func (n *Node) whichStopped(id string, err error) error {
	if !errors.Is(err, runtime.ErrWrongState) {
		return err
	}
	for _, pod := range n.pleg.Pods() {
		for _, c := range pod.Containers {
			if c.ID == id {
				return fmt.Errorf("node: container %q of pod %s/%s does not run%s: %w", c.Name, pod.Namespace, pod.Name, n.waits(pod.UID, c.Name), runtime.ErrWrongState)
			}
		}
	}
	return err
}

// waits is what a container waits for, after a comma; empty if nothing is known.
func (n *Node) waits(uid types.UID, name string) (why string) {
	n.status.ReadPodStatus(uid, func(s *v1.PodStatus) {
		for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses) {
			if c.Name == name && c.State.Waiting != nil {
				why = ", it waits (" + c.State.Waiting.Reason + ")"
			}
		}
	})
	return why
}

// Attach implements runtime.Attacher by the node's runtime. If that is none, the error wraps
// runtime.ErrUnsupported.
func (n *Node) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	attacher := feature[runtime.Attacher](n)
	if attacher == nil {
		return fmt.Errorf("node: the runtime attaches to no containers: %w", runtime.ErrUnsupported)
	}
	return n.whichStopped(req.ContainerID, attacher.Attach(ctx, req, streams))
}

// PortForward implements runtime.PortForwarder by the node's runtime. If that is none, it
// closes conn and the error wraps runtime.ErrUnsupported.
func (n *Node) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	forwarder := feature[runtime.PortForwarder](n)
	if forwarder == nil {
		_ = conn.Close() // Nothing was written to it.
		return fmt.Errorf("node: the runtime forwards no ports: %w", runtime.ErrUnsupported)
	}
	return forwarder.PortForward(ctx, req, conn)
}

var (
	_ runtime.LogReader     = (*Node)(nil)
	_ runtime.ExecStreamer  = (*Node)(nil)
	_ runtime.Attacher      = (*Node)(nil)
	_ runtime.PortForwarder = (*Node)(nil)
)

// buildLogs: who keeps logs from filling the disk. Nobody does where logs are no files
// that we know, or the runtime cannot be told that one was put away.
func (n *Node) buildLogs() (err error) {
	policy := policy.Logs{MaxBytes: n.config.LogMaxBytes, MaxFiles: n.config.LogMaxFiles}
	reopener := feature[runtime.LogReopener](n)
	if n.logs == nil || reopener == nil || policy.Never() {
		return nil
	}
	n.rotator, err = gc.NewLogs(gc.LogsConfig{
		Store: n.logs, Runtime: reopener, Seen: n.pleg, Policy: policy, Clock: n.config.Clock, Log: n.config.Log,
		Panicked: n.guard.Note,
	})
	return err
}
