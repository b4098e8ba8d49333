//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

const (
	// step is the pause between two looks at the runtime. More looks would take
	// from what they look at.
	step = 5 * time.Millisecond
	// waitTimeout is how long anything may take.
	waitTimeout = 2 * time.Minute
	// command ends at once when it is asked to, with nothing to catch up on.
	command = `trap 'exit 0' TERM; sleep 100000 & wait`
	// nameLabel is the kubelet's label with the name of the pod.
	nameLabel = "io.kubernetes.pod.name"
	// uidLabel is that with the UID.
	uidLabel = "io.kubernetes.pod.uid"
	// ownerLabel is the agent's label on all that it makes.
	ownerLabel = "podkeel.dev/owner"
	// bareLabel marks what the bare calls have made.
	bareLabel = "podkeel.dev/figures"
)

// harness is a containerd with an agent on it, and a connection beside the agent's.
type harness struct {
	r          *run
	containerd *e2e.Containerd
	agent      *e2e.Agent
	program    string
	runtime    cri.RuntimeServiceClient
	images     cri.ImageServiceClient
	serial     int // of names
}

func newHarness(r *run) *harness {
	w := &harness{r: r, containerd: e2e.Start(r, r.version)}
	w.runtime = cri.NewRuntimeServiceClient(w.containerd.Conn())
	w.images = cri.NewImageServiceClient(w.containerd.Conn())
	w.program = e2e.BuildAgent(r, w.containerd.Dir)
	w.agent = e2e.StartAgent(r, w.containerd, w.program, "--log-level", "warn", "--events", "false", "--eviction-hard", r.eviction)
	_, err := w.images.PullImage(context.Background(), &cri.PullImageRequest{Image: &cri.ImageSpec{Image: w.imageName()}})
	w.failOnError(err)
	v, err := w.runtime.Version(context.Background(), &cri.VersionRequest{})
	w.failOnError(err)
	r.table.title = fmt.Sprintf("%s %s, medians of %d", v.GetRuntimeName(), v.GetRuntimeVersion(), r.tries)
	e2e.Await(r, "the agent answers", waitTimeout, func() bool { _, err := w.agent.Pods(); return err == nil })
	return w
}

func (w *harness) imageName() string { return w.containerd.Registry.Image() }

func (w *harness) failOnError(err error) {
	if err != nil {
		w.r.Fatalf("figures: %v", err)
	}
}

// nextName returns a new pod name: the prefix and the next serial number.
func (w *harness) nextName(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s-%d", prefix, w.serial)
}

// podManifest returns the YAML manifest of a pod with one container.
func (w *harness) podManifest(name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: %s
spec:
  containers:
  - name: main
    image: %s
    command: [sh, -c, %q]
`, name, w.imageName(), command)
}

// writeManifest writes the manifest of a pod to the agent's directory, so that the agent starts the pod.
func (w *harness) writeManifest(name string) { w.agent.Write(name+".yaml", w.podManifest(name)) }

// removeManifest removes the manifest of a pod from the agent's directory, so that the agent stops the pod.
func (w *harness) removeManifest(name string) { w.agent.Remove(name + ".yaml") }

// mustWaitUntil polls until holds returns true, and returns the time since began. It fails the run after
// waitTimeout or an interrupt. condition is a description for the failure message.
func (w *harness) mustWaitUntil(began time.Time, condition string, holds func() bool) time.Duration {
	for !holds() {
		if time.Since(began) > waitTimeout {
			w.r.Fatalf("figures: not within %s: %s", waitTimeout, condition)
		}
		select {
		case <-w.r.interrupt:
			w.r.Fatalf("figures: interrupted")
		case <-time.After(step):
		}
	}
	return time.Since(began)
}

// sleepUnlessInterrupted sleeps for d. It fails the run if an interrupt arrives meanwhile.
func (w *harness) sleepUnlessInterrupted(d time.Duration) {
	select {
	case <-w.r.interrupt:
		w.r.Fatalf("figures: interrupted")
	case <-time.After(d):
	}
}

// listContainers returns the containers with a label. It fails the run if the runtime returns an error.
func (w *harness) listContainers(key, value string) []*cri.Container {
	list, err := w.runtime.ListContainers(context.Background(), &cri.ListContainersRequest{Filter: &cri.ContainerFilter{LabelSelector: map[string]string{key: value}}})
	w.failOnError(err)
	return list.GetContainers()
}

// listSandboxes returns the sandboxes with a label. It fails the run if the runtime returns an error.
func (w *harness) listSandboxes(key, value string) []*cri.PodSandbox {
	list, err := w.runtime.ListPodSandbox(context.Background(), &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: map[string]string{key: value}}})
	w.failOnError(err)
	return list.GetItems()
}

// findRunningContainer returns the ID of a running container of the pod with this name. Only containers with
// the attempt minAttempt or a later one match. It returns "" if none matches.
func (w *harness) findRunningContainer(pod string, minAttempt uint32) string {
	for _, c := range w.listContainers(nameLabel, pod) {
		if c.GetState() == cri.ContainerState_CONTAINER_RUNNING && c.GetMetadata().GetAttempt() >= minAttempt {
			return c.GetId()
		}
	}
	return ""
}

// waitUntilRunning waits until the pod has a running container with the attempt minAttempt or a later one. It
// returns the start time that the runtime reports, as polling is too coarse.
func (w *harness) waitUntilRunning(pod string, minAttempt uint32) (id string, startedAt time.Time) {
	w.mustWaitUntil(time.Now(), "a container of "+pod+" runs", func() bool {
		id = w.findRunningContainer(pod, minAttempt)
		return id != ""
	})
	status, err := w.runtime.ContainerStatus(context.Background(), &cri.ContainerStatusRequest{ContainerId: id})
	w.failOnError(err)
	return id, time.Unix(0, status.GetStatus().GetStartedAt())
}

// hasStopped reports whether the pod with this name has no running container and no ready sandbox.
func (w *harness) hasStopped(pod string) bool {
	for _, c := range w.listContainers(nameLabel, pod) {
		if c.GetState() == cri.ContainerState_CONTAINER_RUNNING {
			return false
		}
	}
	for _, s := range w.listSandboxes(nameLabel, pod) {
		if s.GetState() == cri.PodSandboxState_SANDBOX_READY {
			return false
		}
	}
	return true
}

// agentOwner returns the value of the owner label on the agent's pods. It reads it from the agent's state
// directory.
func (w *harness) agentOwner() string {
	text, err := os.ReadFile(filepath.Join(w.agent.State, "owner"))
	w.failOnError(err)
	return strings.TrimSpace(string(text))
}

// agentSelector returns the label selector for the pods of the agent.
func (w *harness) agentSelector() map[string]string {
	return map[string]string{ownerLabel: w.agentOwner()}
}

var theirs = map[string]string{bareLabel: "true"}

// listRunning returns the IDs of the running containers that match the selector, and the number of ready
// sandboxes that match it.
func (w *harness) listRunning(selector map[string]string) (containers map[string]bool, readySandboxes int) {
	ctx := context.Background()
	list, err := w.runtime.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{
		LabelSelector: selector, State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
	}})
	w.failOnError(err)
	containers = map[string]bool{}
	for _, c := range list.GetContainers() {
		containers[c.GetId()] = true
	}
	ready, err := w.runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{
		LabelSelector: selector, State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY},
	}})
	w.failOnError(err)
	return containers, len(ready.GetItems())
}

// killContainer sends SIGKILL to the first process of a container, and returns the time just before. It fails
// the run if the container has no process.
func (w *harness) killContainer(container string) time.Time {
	status, err := w.runtime.ContainerStatus(context.Background(), &cri.ContainerStatusRequest{ContainerId: container, Verbose: true})
	w.failOnError(err)
	var info struct {
		PID int `json:"pid"`
	}
	w.failOnError(json.Unmarshal([]byte(status.GetInfo()["info"]), &info))
	if info.PID <= 1 {
		w.r.Fatalf("figures: container %s has no process", container)
	}
	began := time.Now()
	w.failOnError(syscall.Kill(info.PID, syscall.SIGKILL))
	return began
}

// createCRILogDir creates the log directory for a pod that is made with direct CRI calls, and returns its path.
func (w *harness) createCRILogDir(pod string) string {
	dir := filepath.Join(w.containerd.Dir, "bare", pod)
	w.failOnError(os.MkdirAll(dir, 0o755))
	return dir
}
