//go:build unix

package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// host is a machine with a disk: containers in memory, volumes in a directory.
type host struct {
	t       *testing.T
	dir     string
	machine *memory.Runtime
	*runningParts
	// config, if not nil, changes the configuration of each agent.
	config func(*node.Config)

	mu     sync.Mutex
	made   map[string]runtime.CreateContainerRequest // the newest, by pod/container
	events []string                                  // warnings
}

func newHost(t *testing.T) *host {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return &host{t: t, dir: dir, made: map[string]runtime.CreateContainerRequest{}}
}

// bootMachine creates the machine and starts the agent. The caller is in a bubble.
func (h *host) bootMachine() {
	h.machine = memory.New(memory.Config{Hooks: memory.Hooks{Call: h.recordCreate}})
	h.startAgent()
	h.t.Cleanup(func() { assert.NoError(h.t, h.stopNode()) })
}

// startAgent starts an agent whose only state is on the disk.
func (h *host) startAgent(pods ...*v1.Pod) {
	h.t.Helper()
	files, err := objects.NewFiles(h.pathOnDisk("objects"))
	require.NoError(h.t, err)
	dir, err := volumes.New(volumes.Config{Root: h.pathOnDisk("agent"), Objects: files})
	require.NoError(h.t, err)
	config := node.Config{Runtime: h.machine, Volumes: node.VolumesConfig{Manager: dir, Files: dir, Objects: files}, Recorder: h}
	if h.config != nil {
		h.config(&config)
	}
	n, err := node.New(config)
	require.NoError(h.t, err)
	for _, p := range pods {
		require.NoError(h.t, n.Apply(p))
	}
	h.runningParts = runNode(h.t, n)
}

func (h *host) recordCreate(c memory.Call) {
	if r, ok := c.Request.(runtime.CreateContainerRequest); ok && c.Err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.made[r.Pod.Name+"/"+r.Name] = r
	}
}

// Event implements the recorder of a node.
func (h *host) Event(object k8sruntime.Object, kind, reason, message string) {
	name := ""
	switch o := object.(type) {
	case *v1.Pod:
		name = o.Name
	case *v1.ObjectReference: // A container.
		name = o.Name
	}
	if kind != v1.EventTypeWarning {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	text := name + " " + reason + ": " + strings.ReplaceAll(message, h.dir, "")
	if !slices.Contains(h.events, text) {
		h.events = append(h.events, text)
	}
}

// Eventf implements the recorder of a node.
func (h *host) Eventf(object k8sruntime.Object, kind, reason, format string, args ...any) {
	h.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// takeWarnings returns the distinct events since the last call.
func (h *host) takeWarnings() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := h.events
	h.events = nil
	return told
}

// applyManifest applies the pod of a manifest and waits a second. DIR in the manifest is the directory.
func (h *host) applyManifest(text string) *v1.Pod {
	h.t.Helper()
	pod := h.decodePod(text)
	require.NoError(h.t, h.Apply(pod))
	h.passTime(time.Second)
	return pod
}

// decodePod decodes a pod. Its UID is its name.
func (h *host) decodePod(text string) *v1.Pod {
	h.t.Helper()
	pods, err := manifest.Decode([]byte("apiVersion: v1\nkind: Pod\n" + strings.ReplaceAll(text, "DIR", h.dir)))
	require.NoError(h.t, err)
	pods[0].UID = types.UID(pods[0].Name)
	return pods[0]
}

// passTime waits for d in the time of the bubble.
func (h *host) passTime(d time.Duration) {
	h.t.Helper()
	require.NoError(h.t, executor.Over(nil).Sleep(h.t.Context(), d)) // Of the bubble's time.
	synctest.Wait()
}

func (h *host) pathOnDisk(names ...string) string {
	return filepath.Join(append([]string{h.dir}, names...)...)
}

// writeFile writes a file to the disk.
func (h *host) writeFile(text string, names ...string) {
	h.t.Helper()
	at := h.pathOnDisk(names...)
	require.NoError(h.t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(h.t, os.WriteFile(at, []byte(text), 0o644))
}

// hostPathOf returns the path on the disk of a path in a container.
func (h *host) hostPathOf(container, mounted string, names ...string) string {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.made[container].Mounts {
		if m.ContainerPath == mounted {
			return filepath.Join(append([]string{m.HostPath}, names...)...)
		}
	}
	h.t.Fatalf("%s has nothing at %s", container, mounted)
	return ""
}

// readAsContainer returns the text that a container reads at a path.
func (h *host) readAsContainer(container, mounted string, names ...string) string {
	h.t.Helper()
	text, err := os.ReadFile(h.hostPathOf(container, mounted, names...))
	require.NoError(h.t, err)
	return string(text)
}

// containerStatus returns the published status of the container of a pod.
func (h *host) containerStatus(pod string) v1.ContainerStatus {
	h.t.Helper()
	for _, p := range h.Pods() {
		if p.Name == pod {
			require.NotEmpty(h.t, p.Status.ContainerStatuses)
			return p.Status.ContainerStatuses[0]
		}
	}
	h.t.Fatalf("there is no pod %s", pod)
	return v1.ContainerStatus{}
}

const wellPod = `
metadata: {name: well}
spec: {containers: [{name: c, image: "i:1", command: [serve]}]}
`

const diskPod = `
metadata: {name: web, labels: {tier: front}}
spec:
  terminationGracePeriodSeconds: 1
  hostAliases: [{ip: 10.1.2.3, hostnames: [db]}]
  volumes:
  - {name: tmp, emptyDir: {}}
  - {name: conf, configMap: {name: conf}}
  - {name: me, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: host, hostPath: {path: DIR/shared, type: DirectoryOrCreate}}
  containers:
  - name: c
    image: i:1
    command: [serve]
    volumeMounts:
    - {name: tmp, mountPath: /tmp}
    - {name: conf, mountPath: /conf}
    - {name: conf, mountPath: /one, subPath: a}
    - {name: me, mountPath: /me}
    - {name: host, mountPath: /srv}
`

// TestVolumes_Life: the volumes of a pod exist while it runs, follow changes of their objects, survive
// the agent, and are removed with the pod. Files of the host stay.
func TestVolumes_Life(t *testing.T) {
	h := newHost(t)
	h.writeFile("1", "objects/configmaps/default/conf/a")
	synctest.Test(t, func(t *testing.T) {
		h.t = t
		h.bootMachine()
		web := h.applyManifest(diskPod)
		assert.DirExists(t, h.hostPathOf("web/c", "/tmp"))
		assert.Equal(t, "1", h.readAsContainer("web/c", "/conf", "a"))
		assert.Equal(t, "1", h.readAsContainer("web/c", "/one"))
		assert.Equal(t, `tier="front"`, h.readAsContainer("web/c", "/me", "labels"))
		assert.DirExists(t, h.pathOnDisk("shared"))
		assert.Contains(t, h.readAsContainer("web/c", "/etc/hosts"), "10.1.2.3\tdb\n")
		h.writeFile("mine", "agent/pods/web/volumes/tmp/file")

		h.writeFile("2", "objects/configmaps/default/conf/a")
		h.writeFile("3", "objects/configmaps/default/conf/b")
		web.Labels["tier"] = "back"
		require.NoError(t, h.Apply(web))
		h.passTime(2 * time.Minute)
		assert.Equal(t, "2", h.readAsContainer("web/c", "/conf", "a"))
		assert.Equal(t, "3", h.readAsContainer("web/c", "/conf", "b"))
		assert.Equal(t, `tier="back"`, h.readAsContainer("web/c", "/me", "labels"))

		require.NoError(t, h.stopNode())
		h.writeFile("4", "objects/configmaps/default/conf/a")
		h.startAgent(web)
		h.passTime(2 * time.Minute)
		assert.Equal(t, "4", h.readAsContainer("web/c", "/conf", "a"))
		assert.Equal(t, "mine", h.readAsContainer("web/c", "/tmp", "file"))
		assert.Zero(t, h.containerStatus("web").RestartCount)

		h.Delete("web")
		h.passTime(time.Minute)
		assert.NoDirExists(t, h.pathOnDisk("agent/pods/web"))
		assert.DirExists(t, h.pathOnDisk("shared"))
		assert.Empty(t, h.takeWarnings())
	})
}

// TestVolumes_Waits: a pod whose volumes cannot be made waits and says why; it
// starts when they can. No other pod is disturbed.
func TestVolumes_Waits(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(*host)
		volume string
		mount  string
		event  string
		mend   func(*host)
	}{
		{
			name:   "a file is in the way of the directory",
			before: func(h *host) { h.writeFile("", "agent/pods/bad") },
			volume: "emptyDir: {}", mount: "mountPath: /v",
			event: "bad FailedMount: The volumes of the pod cannot be set up: /agent/pods/bad is no directory: a regular file",
			mend:  func(h *host) { require.NoError(h.t, os.Remove(h.pathOnDisk("agent/pods/bad"))) },
		},
		{
			name:   "the object comes later",
			before: func(h *host) { require.NoError(h.t, os.MkdirAll(h.pathOnDisk("objects"), 0o755)) },
			volume: "configMap: {name: late}", mount: "mountPath: /v",
			event: `bad FailedMount: MountVolume.SetUp failed for volume "v" : there is no ConfigMap default/late: not found`,
			mend:  func(h *host) { h.writeFile("1", "objects/configmaps/default/late/a") },
		},
		{
			name:   "the key is no name of a file",
			before: func(h *host) { h.writeFile("data: {../../x: 1}", "objects/configmaps/default/odd.yaml") },
			volume: "configMap: {name: odd}", mount: "mountPath: /v",
			event: `bad FailedMount: MountVolume.SetUp failed for volume "v" : ConfigMap default/odd, key "../../x": no usable path: "../../x" has '..'`,
			mend:  func(h *host) { h.writeFile("data: {x: '1'}", "objects/configmaps/default/odd.yaml") },
		},
		{
			name:   "the path of the host is another thing",
			before: func(h *host) { h.writeFile("", "srv") },
			volume: "hostPath: {path: DIR/srv, type: Directory}", mount: "mountPath: /v",
			event: `bad FailedMount: MountVolume.SetUp failed for volume "v" : hostPath: /srv is no Directory: a regular file`,
			mend: func(h *host) {
				require.NoError(h.t, os.Remove(h.pathOnDisk("srv")))
				require.NoError(h.t, os.Mkdir(h.pathOnDisk("srv"), 0o755))
			},
		},
		{
			name:   "the path of the host is missing",
			volume: "hostPath: {path: DIR/sock, type: Socket}", mount: "mountPath: /v",
			event: `bad FailedMount: MountVolume.SetUp failed for volume "v" : hostPath: stat /sock: no such file or directory`,
			mend: func(h *host) {
				fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
				require.NoError(h.t, err)
				defer syscall.Close(fd)
				require.NoError(h.t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: h.pathOnDisk("sock")}))
			},
		},
		{
			name:   "the subPath is a link out of the volume",
			before: func(h *host) { h.createLink("/etc", "srv/out") },
			volume: "hostPath: {path: DIR/srv}", mount: "mountPath: /v, subPath: out/passwd",
			event: `bad Failed: Error: container c: volumeMounts[0] (v): subPath "out/passwd": statat out/passwd: path escapes from parent`,
		},
		{
			name:   "the subPath is a link to itself",
			before: func(h *host) { h.createLink("turn", "srv/turn") },
			volume: "hostPath: {path: DIR/srv}", mount: "mountPath: /v, subPath: turn",
			event: `bad Failed: Error: container c: volumeMounts[0] (v): subPath "turn": no usable path: too many links`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t)
			if c.before != nil {
				c.before(h)
			}
			synctest.Test(t, func(t *testing.T) {
				h.t = t
				h.bootMachine()
				h.applyManifest(wellPod)
				h.applyManifest("metadata: {name: bad}\nspec:\n  volumes: [{name: v, " + c.volume + "}]\n  containers: [{name: c, image: \"i:1\", command: [serve], volumeMounts: [{name: v, " + c.mount + "}]}]\n")
				h.passTime(time.Minute)
				assert.NotNil(t, h.containerStatus("bad").State.Waiting)
				assert.Equal(t, []string{c.event}, h.takeWarnings())
				if c.mend != nil {
					c.mend(h)
					h.passTime(time.Minute)
					assert.NotNil(t, h.containerStatus("bad").State.Running)
				}
				h.Delete("bad")
				h.passTime(time.Minute)
				assert.NoDirExists(t, h.pathOnDisk("agent/pods/bad"))
				assert.Zero(t, h.containerStatus("well").RestartCount)
				assert.True(t, h.containerStatus("well").Ready)
			})
		})
	}
}

func (h *host) createLink(target string, names ...string) {
	h.t.Helper()
	at := h.pathOnDisk(names...)
	require.NoError(h.t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(h.t, os.Symlink(target, at))
}

// TestVolumes_F31_TerminationMessage: whatever a container has put in the place of the file
// for its termination message is not opened, not waited for, and said.
func TestVolumes_F31_TerminationMessage(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"words":       {func(p string) error { return os.WriteFile(p, []byte("good bye"), 0o600) }, "good bye"},
		"a page":      {func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", 1<<20)+"end"), 0o600) }, strings.Repeat("x", 4093) + "end"},
		"nothing":     {func(string) error { return nil }, ""},
		"a fifo":      {func(p string) error { return syscall.Mkfifo(p, 0o600) }, unread + "a FIFO"},
		"a socket":    {bindSocket, unread + "a socket"},
		"a link":      {func(p string) error { return os.Symlink("/etc/passwd", p) }, unread + "a symbolic link"},
		"a directory": {func(p string) error { return os.Mkdir(p, 0o700) }, unread + "a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			synctest.Test(t, func(t *testing.T) {
				h.t = t
				h.bootMachine()
				h.applyManifest(wellPod)
				h.applyManifest("metadata: {name: bad}\nspec: {restartPolicy: Never, containers: [{name: c, image: \"i:1\", command: [serve]}]}\n")
				file := h.hostPathOf("bad/c", "/dev/termination-log")
				require.NoError(t, os.Remove(file))
				require.NoError(t, c.put(file))
				for _, p := range h.machine.Snapshot() {
					if p.Name == "bad" {
						require.NoError(t, h.machine.ExitContainer(p.Containers[0].ID, 1))
					}
				}
				h.passTime(time.Minute)
				assert.Equal(t, c.want, strings.ReplaceAll(h.containerStatus("bad").State.Terminated.Message, h.dir, ""))
				assert.Zero(t, h.containerStatus("well").RestartCount)
				h.Delete("bad")
				h.passTime(time.Minute)
				assert.NoDirExists(t, h.pathOnDisk("agent/pods/bad"))
			})
		})
	}
}

// unread is the message for a termination message path that is no regular file.
const unread = "the termination message cannot be read: volumes: termination log of container c: not a regular file: "

func bindSocket(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Bind(fd, &syscall.SockaddrUnix{Name: path})
}
