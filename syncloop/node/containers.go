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
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc"
)

const (
	// defaultContainerAnnotation is the annotation with the name of the default container of a pod.
	defaultContainerAnnotation = "kubectl.kubernetes.io/default-container"
	// maxExecOutput is how much of a command's output is kept by a runtime that does
	// not stream it.
	maxExecOutput = 1 << 20
)

// Containers is the part of a node that reaches into containers: it finds them by the names of their
// pods, reads logs, runs commands and measures. Its methods are safe for concurrent use.
type Containers struct {
	config         *Config
	runtime        *contain.Runtime
	executor       executor.Executor
	manager        *podmanager.Store
	status         *status.Store
	pleg           *pleg.PLEG
	imageCollector *gc.Images
	sampler        *sampler
	// findUIDsByName returns the UIDs of the pods of a name in the order of explain.Order.
	findUIDsByName func(namespace, name string) []types.UID
}

// Containers returns the part of the node that reaches into containers. It is the same at every call.
func (n *Node) Containers() *Containers { return n.containers }

// RuntimePods returns all pods as the runtime has shown them last. The result is read only and never
// changes.
func (c *Containers) RuntimePods() []runtime.Pod { return c.pleg.Pods() }

// DeleteUnusedImages makes room on the disk: it removes all images that no container uses, whatever
// Config.Images.GC says, and returns how many bytes it has freed.
func (c *Containers) DeleteUnusedImages(ctx context.Context) (freed uint64, err error) {
	return c.imageCollector.DeleteUnusedImages(ctx)
}

// ContainerID returns the ID of the newest container of this name in a pod, as the runtime shows it
// now. With previous it returns the container of lastState.terminated in the pod's status, as
// kubectl logs --previous does: while a container waits for its restart, that is the newest one. If
// the status has no such state, it returns the container before the newest one.
//
// If container is empty, it is the one that the pod's annotation
// kubectl.kubernetes.io/default-container names, or else its first. Of several pods of the name the
// first in explain.Order that has the container counts. An error that wraps runtime.ErrNotFound
// says what is missing.
func (c *Containers) ContainerID(ctx context.Context, namespace, pod, container string, previous bool) (string, error) {
	uids := c.findUIDsByName(namespace, pod)
	if len(uids) == 0 {
		return "", fmt.Errorf("node: there is no pod %q in namespace %q: %w", pod, namespace, runtime.ErrNotFound)
	}
	var missing error
	for _, uid := range uids {
		id, err := c.PodContainerID(ctx, uid, container, previous)
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
func (c *Containers) PodContainerID(ctx context.Context, uid types.UID, container string, previous bool) (string, error) {
	status, err := c.runtime.PodStatus(ctx, uid)
	if err != nil {
		return "", err
	}
	name := cmp.Or(container, c.defaultContainerName(uid))
	ended := c.lastTerminatedContainerID(uid, name)
	if previous && slices.ContainsFunc(status.Containers, func(c runtime.ContainerStatus) bool { return c.ID == ended }) {
		return ended, nil
	}
	return newestContainerID(status, name, previous)
}

// SandboxID returns the ID of the newest sandbox of a pod, as the runtime shows it now. Of several
// pods of the name the first in explain.Order that has a sandbox counts. An error that wraps
// runtime.ErrNotFound says what is missing.
func (c *Containers) SandboxID(ctx context.Context, namespace, pod string) (string, error) {
	for _, uid := range c.findUIDsByName(namespace, pod) {
		if id, err := c.PodSandboxID(ctx, uid); !errors.Is(err, runtime.ErrNotFound) {
			return id, err
		}
	}
	return "", fmt.Errorf("node: pod %q in namespace %q has no sandbox: %w", pod, namespace, runtime.ErrNotFound)
}

// PodSandboxID is SandboxID for one pod, whose UID is known: it never returns the sandbox of
// another pod of the same name. It is called like PodContainerID.
func (c *Containers) PodSandboxID(ctx context.Context, uid types.UID) (string, error) {
	status, err := c.runtime.PodStatus(ctx, uid)
	if err != nil {
		return "", err
	}
	if len(status.Sandboxes) == 0 {
		return "", fmt.Errorf("the runtime has no sandbox of it: %w", runtime.ErrNotFound)
	}
	return status.Sandboxes[0].ID, nil
}

// lastTerminatedContainerID returns the ID of the container in lastState.terminated of the pod's status; empty if there is none.
func (c *Containers) lastTerminatedContainerID(uid types.UID, name string) (id string) {
	c.status.ReadPodStatus(uid, func(s *v1.PodStatus) {
		for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
			if end := c.LastTerminationState.Terminated; c.Name == name && end != nil {
				_, id, _ = strings.Cut(end.ContainerID, "://")
			}
		}
	})
	return id
}

// defaultContainerName returns the default container of a pod; empty if the pod is not desired.
func (c *Containers) defaultContainerName(uid types.UID) string {
	pod, ok := c.manager.GetPodByUID(uid)
	if !ok || len(pod.Spec.Containers) == 0 {
		return ""
	}
	if name := pod.Annotations[defaultContainerAnnotation]; hasContainer(pod, name) {
		return name
	}
	return pod.Spec.Containers[0].Name
}

func hasContainer(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == name })
}

// newestContainerID returns the newest container of a name, or the one before it. Without a name the pod must have exactly
// one container.
func newestContainerID(status *runtime.PodStatus, name string, previous bool) (string, error) {
	var names []string
	for _, c := range status.Containers {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	if name == "" {
		if len(names) != 1 {
			return "", fmt.Errorf("name one of its containers, %s: %w", joinNames(names), runtime.ErrNotFound)
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
	return "", fmt.Errorf("the runtime has no container %q of it, but %s: %w", name, joinNames(names), runtime.ErrNotFound)
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ReadLog implements runtime.LogReader by the node's runtime. If that is none, the
// error wraps runtime.ErrUnsupported.
func (c *Containers) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	logs := c.runtime.Features().LogReader
	if logs == nil {
		return fmt.Errorf("node: the runtime keeps no logs: %w", runtime.ErrUnsupported)
	}
	return logs.ReadLog(ctx, req, w)
}

// ExecStream implements runtime.ExecStreamer by the node's runtime. If that is
// none but an Execer, the output comes at the end, all of it on Stdout and no more
// than a mebibyte, and there is no input. Otherwise the error wraps
// runtime.ErrUnsupported.
func (c *Containers) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	if streamer := c.runtime.Features().ExecStreamer; streamer != nil {
		exitCode, err = streamer.ExecStream(ctx, req, streams)
		return exitCode, c.explainStoppedContainer(req.ContainerID, err)
	}
	execer := c.runtime.Features().Execer
	if execer == nil || req.TTY || streams.Stdin != nil {
		return 0, fmt.Errorf("node: the runtime runs no such commands: %w", runtime.ErrUnsupported)
	}
	result, err := execer.Exec(ctx, runtime.ExecRequest{ContainerID: req.ContainerID, Command: req.Command, OutputLimit: maxExecOutput})
	if err == nil && streams.Stdout != nil {
		_, err = streams.Stdout.Write(result.Output)
	}
	return result.ExitCode, c.explainStoppedContainer(req.ContainerID, err)
}

// explainStoppedContainer adds the name of the container, and why it waits, to an error of the runtime that the container
// does not run: the client has asked by name, and the error of the runtime has the ID.
func (c *Containers) explainStoppedContainer(id string, err error) error {
	if !errors.Is(err, runtime.ErrWrongState) {
		return err
	}
	for _, pod := range c.pleg.Pods() {
		for _, one := range pod.Containers {
			if one.ID == id {
				return fmt.Errorf("node: container %q of pod %s/%s does not run%s: %w", one.Name, pod.Namespace, pod.Name, c.describeWaiting(pod.UID, one.Name), runtime.ErrWrongState)
			}
		}
	}
	return err
}

// describeWaiting returns the waiting reason of a container, after a comma; empty if there is none.
func (c *Containers) describeWaiting(uid types.UID, name string) (why string) {
	c.status.ReadPodStatus(uid, func(s *v1.PodStatus) {
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
func (c *Containers) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	attacher := c.runtime.Features().Attacher
	if attacher == nil {
		return fmt.Errorf("node: the runtime attaches to no containers: %w", runtime.ErrUnsupported)
	}
	return c.explainStoppedContainer(req.ContainerID, attacher.Attach(ctx, req, streams))
}

// PortForward implements runtime.PortForwarder by the node's runtime. If that is none, it
// closes conn and the error wraps runtime.ErrUnsupported.
func (c *Containers) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	forwarder := c.runtime.Features().PortForwarder
	if forwarder == nil {
		_ = conn.Close() // Nothing was written to it.
		return fmt.Errorf("node: the runtime forwards no ports: %w", runtime.ErrUnsupported)
	}
	return forwarder.PortForward(ctx, req, conn)
}

var (
	_ runtime.LogReader     = (*Containers)(nil)
	_ runtime.ExecStreamer  = (*Containers)(nil)
	_ runtime.Attacher      = (*Containers)(nil)
	_ runtime.PortForwarder = (*Containers)(nil)
)
