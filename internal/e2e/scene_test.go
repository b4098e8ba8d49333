//go:build linux

package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/internal/executor"
)

const (
	// soon is what anything may take that does not wait for anything, on a
	// machine that does much else.
	soon = 60 * time.Second
	// glance is how long a story waits between two looks.
	glance = 25 * time.Millisecond
)

var real = executor.Over(clock.RealClock{})

// splitProcFileAtNUL replaces the words that stories write for long or unknown texts.
var splitProcFileAtNUL = strings.NewReplacer(
	// A shell that exits at once on SIGTERM.
	"STAY", `[sh, -c, "trap 'exit 0' TERM; sleep 100000 & wait"]`,
)

// board has the pods of an agent, asked for once for all who look.
type board struct {
	agent *e2e.Agent

	mu   sync.Mutex
	at   time.Time
	pods map[string]*v1.Pod
}

// listPods returns the pods of the agent by name, or nil if the agent does not answer.
func (b *board) listPods() map[string]*v1.Pod {
	b.mu.Lock()
	defer b.mu.Unlock()
	if real.Now().Sub(b.at) > glance {
		pods, err := b.agent.Pods()
		if err != nil {
			return nil
		}
		b.at, b.pods = real.Now(), pods
	}
	return b.pods
}

// scene is what a story happens on.
type scene struct {
	*testing.T
	c     *e2e.Containerd
	agent *e2e.Agent
	board *board
	cri   cri.RuntimeServiceClient
}

func newScene(t *testing.T, c *e2e.Containerd, a *e2e.Agent) *scene {
	return &scene{T: t, c: c, agent: a.On(t), board: &board{agent: a}, cri: cri.NewRuntimeServiceClient(c.Conn())}
}

// withTest returns a copy of the scene for a subtest.
func (s *scene) withTest(t *testing.T) *scene {
	other := *s
	other.T, other.agent = t, s.agent.On(t)
	return &other
}

// writePod writes a pod's manifest, and removes it when the story ends. Each further argument is either WORD=value, which
// replaces a word of the spec, or a line of the metadata.
func (s *scene) writePod(name, spec string, more ...string) {
	s.Helper()
	said := []string{"IMAGE", s.c.Registry.Image(), "NEXT", s.c.Registry.NextImage()}
	text := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n"
	for _, m := range more {
		if word, value, ok := strings.Cut(m, "="); ok && word == strings.ToUpper(word) {
			said = append(said, word, value)
			continue
		}
		text += indentText(m)
	}
	text += "spec:\n" + indentText(splitProcFileAtNUL.Replace(spec))
	text = strings.NewReplacer(said...).Replace(text)
	s.agent.Write(name+".yaml", text)
	s.Cleanup(func() { _ = os.Remove(s.manifestPath(name)) }) // The story may have removed it.
}

// indentText indents a text by two spaces.
func indentText(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

func (s *scene) manifestPath(name string) string {
	return filepath.Join(s.agent.Manifests, name+".yaml")
}

// removePod removes a pod's manifest and waits until nothing of it runs.
func (s *scene) removePod(name string) {
	s.Helper()
	s.agent.Remove(name + ".yaml")
	s.waitUntilGone(name)
}

// waitUntilGone waits until the agent does not list a pod, and the runtime runs no container of it.
func (s *scene) waitUntilGone(name string) {
	s.Helper()
	s.waitFor(name+" is gone", 2*soon, func() bool {
		pods := s.board.listPods()
		return pods != nil && pods[name] == nil && s.isStopped(name)
	})
}

// isStopped reports whether the runtime runs no container and no sandbox of a pod.
func (s *scene) isStopped(name string) bool {
	s.Helper()
	return len(s.runningContainers(name))+len(s.readySandboxes(name)) == 0
}

// waitFor waits until holds returns true. It fails the test after the time within.
func (s *scene) waitFor(what string, within time.Duration, holds func() bool) {
	s.Helper()
	for end := real.Now().Add(within); !holds(); {
		if real.Now().After(end) {
			s.Fatalf("not within %s: %s", within, what)
			return
		}
		_ = real.Sleep(s.Context(), glance)
	}
}

// awaitPod waits until done returns true for a pod, and returns the pod.
func (s *scene) awaitPod(name, what string, done func(*v1.Pod) bool) *v1.Pod {
	s.Helper()
	var found, last *v1.Pod
	for end := real.Now().Add(soon); found == nil; {
		if p := s.board.listPods()[name]; p != nil {
			if last = p; done(p) {
				found = p
				break
			}
		}
		if real.Now().After(end) {
			why := ""
			if last != nil {
				why, _ = s.agent.Get("/explain/default/" + last.Name)
				why = fmt.Sprintf("%s\n%+v", why, last.Status)
			}
			s.Fatalf("%s: not within %s: %s\n%s", name, soon, what, why)
		}
		_ = real.Sleep(s.Context(), glance)
	}
	return found
}

// awaitReady waits until a pod is Ready.
func (s *scene) awaitReady(name string) *v1.Pod {
	s.Helper()
	return s.awaitPod(name, "Ready", isReady)
}

func isReady(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// statusOf is the status of a container of any kind, or an empty one.
func statusOf(p *v1.Pod, container string) v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for _, c := range list {
			if c.Name == container {
				return c
			}
		}
	}
	return v1.ContainerStatus{}
}

// lastExit is how a container ended that has been started again since, or that
// has ended.
func lastExit(p *v1.Pod, container string) *v1.ContainerStateTerminated {
	st := statusOf(p, container)
	return cmp.Or(st.State.Terminated, st.LastTerminationState.Terminated)
}

// callContext returns the context of a direct CRI call.
func (s *scene) callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(s.Context()), soon)
}

func podSelector(name string) map[string]string {
	return map[string]string{"io.kubernetes.pod.name": name + "-" + e2e.NodeName}
}

// listContainers returns the containers of a pod as the runtime lists them, the first attempt first.
func (s *scene) listContainers(name string) []*cri.Container {
	s.Helper()
	ctx, cancel := s.callContext()
	defer cancel()
	list, err := s.cri.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{LabelSelector: podSelector(name)}})
	require.NoError(s, err)
	slices.SortFunc(list.Containers, func(a, b *cri.Container) int {
		return cmp.Or(cmp.Compare(a.Metadata.Name, b.Metadata.Name), cmp.Compare(a.Metadata.Attempt, b.Metadata.Attempt))
	})
	return list.Containers
}

// listSandboxes returns the sandboxes of a pod as the runtime lists them.
func (s *scene) listSandboxes(name string) []*cri.PodSandbox {
	s.Helper()
	ctx, cancel := s.callContext()
	defer cancel()
	list, err := s.cri.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: podSelector(name)}})
	require.NoError(s, err)
	return list.Items
}

// runningContainers returns the running containers of a pod.
func (s *scene) runningContainers(name string) []*cri.Container {
	s.Helper()
	return slices.DeleteFunc(s.listContainers(name), func(c *cri.Container) bool {
		return c.State != cri.ContainerState_CONTAINER_RUNNING
	})
}

// readySandboxes returns the ready sandboxes of a pod name, of all agents.
func (s *scene) readySandboxes(name string) []*cri.PodSandbox {
	s.Helper()
	return slices.DeleteFunc(s.listSandboxes(name), func(p *cri.PodSandbox) bool {
		return p.State != cri.PodSandboxState_SANDBOX_READY
	})
}

// onlySandbox returns the status of the only sandbox of a pod.
func (s *scene) onlySandbox(name string) *cri.PodSandboxStatus {
	s.Helper()
	all := s.listSandboxes(name)
	require.Len(s, all, 1)
	ctx, cancel := s.callContext()
	defer cancel()
	st, err := s.cri.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: all[0].Id})
	require.NoError(s, err)
	return st.Status
}

// runningContainer returns the status of the only running container with a name.
func (s *scene) runningContainer(pod, container string) *cri.ContainerStatus {
	s.Helper()
	found := slices.DeleteFunc(s.runningContainers(pod), func(c *cri.Container) bool { return c.Metadata.Name != container })
	require.Len(s, found, 1, "%s/%s", pod, container)
	return s.containerStatus(found[0].Id)
}

// containerStatus returns the status of a container.
func (s *scene) containerStatus(id string) *cri.ContainerStatus {
	s.Helper()
	ctx, cancel := s.callContext()
	defer cancel()
	st, err := s.cri.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
	require.NoError(s, err)
	return st.Status
}

// runScript runs a script in the running container with a name, and returns its output.
func (s *scene) runScript(pod, container, script string) string {
	s.Helper()
	res := s.execScript(pod, container, script)
	require.Zero(s, res.ExitCode, "%s: %s", script, res.Stderr)
	return strings.TrimSuffix(string(res.Stdout), "\n")
}

// runExitScript runs a script that makes the container exit. The kernel kills the shell then, possibly before the shell
// exits by itself. So runExitScript accepts SIGKILL as a result. The caller waits for the container's exit.
func (s *scene) runExitScript(pod, container, script string) {
	s.Helper()
	res := s.execScript(pod, container, script)
	require.Contains(s, []int32{0, 128 + int32(syscall.SIGKILL)}, res.ExitCode, "%s: %s", script, res.Stderr)
}

func (s *scene) execScript(pod, container, script string) *cri.ExecSyncResponse {
	s.Helper()
	ctx, cancel := s.callContext()
	defer cancel()
	res, err := s.cri.ExecSync(ctx, &cri.ExecSyncRequest{
		ContainerId: s.runningContainer(pod, container).Id, Cmd: []string{"sh", "-c", script}, Timeout: 20,
	})
	require.NoError(s, err)
	return res
}

// awaitTraps waits until the processes of containers catch or ignore SIGTERM. Before its trap is set a process would not
// react to the signal, or would exit while it still starts.
func (s *scene) awaitTraps(pod string, containers ...string) {
	s.Helper()
	for _, c := range containers {
		s.waitFor(pod+"/"+c+" heeds its trap", soon, func() bool {
			var trapped uint64
			for line := range strings.Lines(s.runScript(pod, c, "grep -E 'Sig(Ign|Cgt)' /proc/1/status")) {
				_, mask, _ := strings.Cut(line, ":")
				signals, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
				require.NoError(s, err, line)
				trapped |= signals
			}
			return trapped&(1<<(syscall.SIGTERM-1)) != 0
		})
	}
}

// readLog returns the log of a container from the agent.
func (s *scene) readLog(pod, container string) string {
	text, err := s.agent.Get("/logs/default/" + pod + "-" + e2e.NodeName + "/" + container)
	if err != nil {
		return err.Error()
	}
	return text
}

// sharedDir returns a directory of the host for hostPath volumes. It is removed when the story ends.
func (s *scene) sharedDir() string { return s.TempDir() }

// readFile returns the text of a file, or "" if it does not exist.
func readFile(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSuffix(string(text), "\n")
}
