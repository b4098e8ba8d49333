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
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/gc"
)

const (
	// defaultContainerAnnotation is the annotation that names the default container of a pod.
	defaultContainerAnnotation = "kubectl.kubernetes.io/default-container"
	// maxExecOutput limits the output of a command, in bytes, if the runtime does not stream it.
	maxExecOutput = 1 << 20
)

// Containers is the part of a node that accesses containers: it finds them by the names of their pods,
// reads logs, runs commands and measures resource usage. Its methods are safe for concurrent use.
type Containers struct {
	config         *Config
	runtime        *contain.Runtime
	executor       executor.Executor
	manager        *podmanager.Store
	status         *status.Store
	pleg           *pleg.PLEG
	imageCollector *gc.Images
	sampler        *sampler
	// observations returns the last measurements of Config.Eviction.Signals. It returns none without them.
	observations func() eviction.Observations
	// findUIDsByName returns the UIDs of the pods of a name, in the order of explain.Order.
	findUIDsByName func(namespace, name string) []types.UID
}

// Containers returns the part of the node that accesses containers. Each call returns the same value.
func (n *Node) Containers() *Containers { return n.containers }

// RuntimePods returns all pods of the newest observation of the runtime. The caller must not modify the
// result.
func (c *Containers) RuntimePods() []runtime.Pod { return c.pleg.Pods() }

// DeleteUnusedImages removes all images that no container uses, whatever Config.Images.GC says. It
// returns the number of freed bytes.
func (c *Containers) DeleteUnusedImages(ctx context.Context) (freed uint64, err error) {
	return c.imageCollector.DeleteUnusedImages(ctx)
}

// ContainerID returns the ID of the newest container of this name in a pod, which it reads from the
// runtime. With previous it returns the container of lastState.terminated in the pod's status, as
// kubectl logs --previous does. While a container waits for its restart, that is its newest container.
// If the status has no such state, ContainerID returns the container before the newest one.
//
// An empty container name selects the container that the annotation
// kubectl.kubernetes.io/default-container names, or else the first one. If several pods have the name,
// ContainerID uses the first in explain.Order that has the container. An error that wraps
// runtime.ErrNotFound names the missing object.
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

// PodContainerID returns the container of the pod with this UID, as ContainerID does for a name. It
// never returns a container of another pod of the same name. It is called once for each request of a
// client, concurrently. An error that wraps runtime.ErrNotFound names the missing container; any other
// error is the runtime's.
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
	return newestOrPreviousContainerID(status, name, previous)
}

// SandboxID returns the ID of the newest sandbox of a pod, which it reads from the runtime. If several
// pods have the name, it uses the first in explain.Order that has a sandbox. An error that wraps
// runtime.ErrNotFound names the missing object.
func (c *Containers) SandboxID(ctx context.Context, namespace, pod string) (string, error) {
	for _, uid := range c.findUIDsByName(namespace, pod) {
		if id, err := c.PodSandboxID(ctx, uid); !errors.Is(err, runtime.ErrNotFound) {
			return id, err
		}
	}
	return "", fmt.Errorf("node: pod %q in namespace %q has no sandbox: %w", pod, namespace, runtime.ErrNotFound)
}

// PodSandboxID returns the newest sandbox of the pod with this UID. It never returns the sandbox of
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

// lastTerminatedContainerID returns the container ID in lastState.terminated of an init or regular container,
// without its runtime prefix. It returns "" if the container has no such state.
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

// defaultContainerName returns the regular container that the annotation
// kubectl.kubernetes.io/default-container names. If it names none, it returns the first container of the pod,
// or "" if the pod is not desired.
func (c *Containers) defaultContainerName(uid types.UID) string {
	pod, ok := c.manager.GetPodByUID(uid)
	if !ok || len(pod.Spec.Containers) == 0 {
		return ""
	}
	if name := pod.Annotations[defaultContainerAnnotation]; hasRegularContainer(pod, name) {
		return name
	}
	return pod.Spec.Containers[0].Name
}

// hasRegularContainer reports whether the spec has a regular container of this name. It ignores init and
// ephemeral containers.
func hasRegularContainer(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == name })
}

// newestOrPreviousContainerID returns the ID of the newest container with a name; if previous is true, the ID
// of the one created before it. An empty name is allowed only if all containers have the same name. If there is
// no such container, the error wraps runtime.ErrNotFound.
func newestOrPreviousContainerID(status *runtime.PodStatus, name string, previous bool) (string, error) {
	var names []string
	for _, c := range status.Containers {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	if name == "" {
		if len(names) != 1 {
			return "", fmt.Errorf("name one of its containers, %s: %w", joinNamesOrNone(names), runtime.ErrNotFound)
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
		return "", fmt.Errorf("container %q has no earlier container: %w", name, runtime.ErrNotFound)
	}
	return "", fmt.Errorf("the runtime has no container %q of it, but %s: %w", name, joinNamesOrNone(names), runtime.ErrNotFound)
}

// joinNamesOrNone returns the names separated by commas, or "none" without names.
func joinNamesOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ReadLog implements runtime.LogReader with the node's runtime. If the runtime is no LogReader, the
// error wraps runtime.ErrUnsupported.
func (c *Containers) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	logs := c.runtime.Features().LogReader
	if logs == nil {
		return fmt.Errorf("node: the runtime keeps no logs: %w", runtime.ErrUnsupported)
	}
	return logs.ReadLog(ctx, req, w)
}

// ExecStream implements runtime.ExecStreamer with the node's runtime. If the runtime is only an Execer,
// the command gets no input, and at most a mebibyte of its output is written to Stdout when the command
// has exited. Otherwise the error wraps runtime.ErrUnsupported.
func (c *Containers) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	if streamer := c.runtime.Features().ExecStreamer; streamer != nil {
		exitCode, err = streamer.ExecStream(ctx, req, streams)
		return exitCode, c.explainStoppedContainer(req.ContainerID, err)
	}
	execer := c.runtime.Features().Execer
	if execer == nil || req.TTY || streams.Stdin != nil {
		return 0, fmt.Errorf("node: the runtime cannot run such commands: %w", runtime.ErrUnsupported)
	}
	result, err := execer.Exec(ctx, runtime.ExecRequest{ContainerID: req.ContainerID, Command: req.Command, OutputLimit: maxExecOutput})
	if err == nil && streams.Stdout != nil {
		_, err = streams.Stdout.Write(result.Output)
	}
	return result.ExitCode, c.explainStoppedContainer(req.ContainerID, err)
}

// explainStoppedContainer replaces a runtime.ErrWrongState by an error that names the container that does not
// run, its pod, and its waiting reason. It returns other errors unchanged, and also the error of a container
// that the PLEG has not observed.
func (c *Containers) explainStoppedContainer(id string, err error) error {
	if !errors.Is(err, runtime.ErrWrongState) {
		return err
	}
	for _, pod := range c.pleg.Pods() {
		for _, one := range pod.Containers {
			if one.ID == id {
				return fmt.Errorf("node: container %q of pod %s/%s does not run%s: %w", one.Name, pod.Namespace, pod.Name, c.appendableWaitingReason(pod.UID, one.Name), runtime.ErrWrongState)
			}
		}
	}
	return err
}

// appendableWaitingReason returns the text ", it waits (Reason)" for a container that waits. The caller appends
// it to another message. It returns "" if the container does not wait.
func (c *Containers) appendableWaitingReason(uid types.UID, name string) (text string) {
	c.status.ReadPodStatus(uid, func(s *v1.PodStatus) {
		for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses) {
			if c.Name == name && c.State.Waiting != nil {
				text = ", it waits (" + c.State.Waiting.Reason + ")"
			}
		}
	})
	return text
}

// Attach implements runtime.Attacher with the node's runtime. If the runtime is no Attacher, the error
// wraps runtime.ErrUnsupported.
func (c *Containers) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	attacher := c.runtime.Features().Attacher
	if attacher == nil {
		return fmt.Errorf("node: the runtime cannot attach to containers: %w", runtime.ErrUnsupported)
	}
	return c.explainStoppedContainer(req.ContainerID, attacher.Attach(ctx, req, streams))
}

// PortForward implements runtime.PortForwarder with the node's runtime. If the runtime is no
// PortForwarder, PortForward closes conn and the error wraps runtime.ErrUnsupported.
func (c *Containers) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	forwarder := c.runtime.Features().PortForwarder
	if forwarder == nil {
		_ = conn.Close() // Nothing was written to it.
		return fmt.Errorf("node: the runtime cannot forward ports: %w", runtime.ErrUnsupported)
	}
	return forwarder.PortForward(ctx, req, conn)
}

var (
	_ runtime.LogReader     = (*Containers)(nil)
	_ runtime.ExecStreamer  = (*Containers)(nil)
	_ runtime.Attacher      = (*Containers)(nil)
	_ runtime.PortForwarder = (*Containers)(nil)
)
