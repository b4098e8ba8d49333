package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
)

// hang has calls of the runtime about the pod web not return.
func (h *harness) hang(rules ...faulty.Rule) (faults *faulty.Faults) {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(h, err)
	h.runtime = faults.Wrap(h.machine, h.NewProcess().Clock())
	for _, r := range rules {
		if r.Do = faulty.Hang; r.Verb != faulty.PullImage {
			r.Pod = "web"
		}
		_, err := faults.Add(r)
		require.NoError(h, err)
	}
	return faults
}

// told is a pod with its labels in a file, as volume d.
func told(pod *v1.Pod) {
	pod.Labels = map[string]string{"v": "0"}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "d", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{
		Items: []v1.DownwardAPIVolumeFile{{Path: "v", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels['v']"}}},
	}}})
}

// second is a container that is started after the first one.
func second(edit func(*v1.Container)) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		c := *pod.Spec.Containers[0].DeepCopy()
		c.Name, c.Image = "second", "second:1"
		edit(&c)
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
}

// TestCluster_VC8_FilesFollowBesideAHungWorker: files of running containers follow within ten
// seconds whatever the worker of their pod is about: a call of the runtime that does not return,
// a long hook, a pull, or a termination of ten minutes.
func TestCluster_VC8_FilesFollowBesideAHungWorker(t *testing.T) {
	nothing := second(func(*v1.Container) {})
	for name, c := range map[string]struct {
		hang   []faulty.Rule
		edit   func(*v1.Pod)
		ending bool
	}{
		"a start":        {[]faulty.Rule{{Verb: faulty.StartContainer, Container: "second"}}, nothing, false},
		"a creation":     {[]faulty.Rule{{Verb: faulty.CreateContainer, Container: "second"}}, nothing, false},
		"a pull":         {[]faulty.Rule{{Verb: faulty.PullImage, Skip: 1}}, nothing, false},
		"an observation": {[]faulty.Rule{{Verb: faulty.PodStatus, Skip: 4}}, nothing, false},
		"a hook": {[]faulty.Rule{{Verb: faulty.RunHandler}, {Verb: faulty.Exec}}, second(func(c *v1.Container) {
			c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sleep"}}}}
		}), false},
		"a stop": {[]faulty.Rule{{Verb: faulty.StopContainer}}, func(*v1.Pod) {}, true},
		"a termination": {nil, func(pod *v1.Pod) {
			pod.Spec.TerminationGracePeriodSeconds = new(int64(600))
			pod.Spec.Containers[0].Command = []string{"sh", "-c", "trap '' TERM; sleep 100000"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(longtest.Count(2, 5)) {
				h := simulate(t, seed)
				h.disk()
				h.hang(c.hang...)
				h.resync = time.Hour
				h.configMap("conf", "0")
				web := h.bind("web", mount("conf", ""), told, c.edit)
				h.start()
				h.until(func() bool { return len(h.running()) > 0 && h.read(web, "c/k") == "0" })
				h.after(20 * time.Second)
				if c.ending {
					h.delete("web", nil)
					h.after(5 * time.Second)
				}
				for i := range 5 {
					h.after(time.Duration(h.Float64() * float64(20*time.Second)))
					value := fmt.Sprint(i + 1)
					h.configMap("conf", value)
					require.Less(t, h.until(func() bool { return h.read(web, "c/k") == value }), 10*time.Second, "seed %d", seed)
					require.NoError(t, h.server.Admin().EditPod("default", "web", func(p *v1.Pod) { p.Labels["v"] = value }))
					require.Less(t, h.until(func() bool { return h.read(web, "d/v") == value }), 10*time.Second, "seed %d", seed)
				}
				require.Contains(t, h.running(), "web/c attempt 0")
				h.crash()
			}
		})
	}
}

// TestCluster_VC8_FilesFollowAfterARestart: the same holds for the files of a pod that runs already when the agent
// starts. They follow before the pod's first sync, even if an observation or a SetUp hangs. They also follow changes
// that were made while no agent ran.
func TestCluster_VC8_FilesFollowAfterARestart(t *testing.T) {
	for name, c := range map[string]struct {
		hang   []faulty.Rule
		slow   bool
		ending bool
	}{
		"an observation":                  {[]faulty.Rule{{Verb: faulty.PodStatus}}, false, false},
		"an observation of one that ends": {[]faulty.Rule{{Verb: faulty.PodStatus}}, false, true},
		"a stop":                          {[]faulty.Rule{{Verb: faulty.StopContainer}}, false, true},
		"a SetUp":                         {nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := simulate(t, 1)
			h.disk()
			h.resync = time.Hour
			h.configMap("conf", "0")
			web := h.bind("web", mount("conf", ""), told)
			h.start()
			h.until(func() bool { return h.read(web, "c/k") == "0" && len(h.running()) > 0 })
			h.crash()
			h.configMap("conf", "1")
			if c.ending {
				h.delete("web", new(int64(600)))
			}
			h.hang(c.hang...)
			if made := h.volumes; c.slow {
				h.volumes = func(n node.Config) (podsync.Volumes, podsync.Files, error) {
					made, files, err := made(n)
					return stuck{made.(*volumes.Dir), executor.Over(n.Clock)}, files, err
				}
			}
			h.start()
			require.Less(t, h.until(func() bool { return h.read(web, "c/k") == "1" }), 10*time.Second)
			for i := range 5 {
				h.after(time.Duration(h.Float64() * float64(20*time.Second)))
				value := fmt.Sprint(i + 2)
				h.configMap("conf", value)
				require.Less(t, h.until(func() bool { return h.read(web, "c/k") == value }), 10*time.Second)
				require.NoError(t, h.server.Admin().EditPod("default", "web", func(p *v1.Pod) { p.Labels["v"] = value }))
				require.Less(t, h.until(func() bool { return h.read(web, "d/v") == value }), 10*time.Second)
			}
			require.Contains(t, h.running(), "web/c attempt 0")
		})
	}
}

// stuck are volumes whose SetUp does not return.
type stuck struct {
	*volumes.Dir
	executor executor.Executor
}

func (s stuck) SetUp(ctx context.Context, _ *v1.Pod) error { return s.executor.Sleep(ctx, time.Hour) }

// TestCluster_VC23_TokenOfAPodThatEndsSlowly: it has a token that is valid until its end.
func TestCluster_VC23_TokenOfAPodThatEndsSlowly(t *testing.T) {
	h := simulate(t, 1)
	h.disk()
	_, err := h.server.Admin().Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}})
	require.NoError(t, err)
	web := h.bind("web", withToken, func(pod *v1.Pod) {
		pod.Spec.TerminationGracePeriodSeconds = new(int64(3 * 3600))
		pod.Spec.Containers[0].Command = []string{"sh", "-c", "trap '' TERM; sleep 100000"}
	})
	h.start()
	h.after(time.Minute)
	h.delete("web", nil)
	first := h.read(web, "t/token")
	for range 3 {
		h.after(50 * time.Minute)
		now := h.read(web, "t/token")
		assert.NotEqual(t, first, now)
		first = now
	}
	h.after(2 * time.Hour)
	assert.Equal(t, v1.PodPhase("gone"), h.phase("web"))
	assert.Equal(t, "no file", h.read(web, "t/token"))
}

// slowly is a podsync.Objects that takes its time, by chance.
type slowly struct {
	podsync.Objects
	executor executor.Executor
	scale    func() float64
}

func (s slowly) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	found, err := s.Objects.ConfigMap(ctx, namespace, name)
	if err := s.executor.Sleep(ctx, time.Duration(s.scale()*float64(5*time.Second))); err != nil {
		return nil, err
	}
	return found, err
}

// TestCluster_RefreshesAmongSyncsAndTearDowns: pods are created and deleted while objects change all the time and reads
// of the objects are slow. In the end the files have the newest contents, and nothing is left of removed pods.
func TestCluster_RefreshesAmongSyncsAndTearDowns(t *testing.T) {
	for seed := range uint64(longtest.Count(6, 30)) {
		h := simulate(t, seed)
		root := h.TempDir()
		h.volumes = func(n node.Config) (podsync.Volumes, podsync.Files, error) {
			objects := slowly{n.Volumes.Objects, executor.Over(n.Clock), h.Float64}
			dir, err := volumes.New(volumes.Config{Root: root, Objects: objects, Tokens: n.Volumes.Tokens, Claims: n.Volumes.Claims})
			return dir, dir, err
		}
		h.hang(faulty.Rule{Verb: faulty.StartContainer, Container: "second", Times: 3})
		h.configMap("conf", "0")
		h.start()
		here := map[string]bool{}
		value := 0
		for range 60 {
			name := []string{"web", "a", "b"}[int(h.Float64()*3)]
			switch n := h.Float64(); {
			case !here[name]:
				h.bind(name, mount("conf", ""), second(func(*v1.Container) {}))
				here[name] = true
			case n < 0.2:
				h.delete(name, new(int64(h.Float64()*20)))
				h.until(func() bool { return h.phase(name) == "gone" })
				here[name] = false
			default:
				value++
				h.configMap("conf", fmt.Sprint(value))
			}
			h.after(time.Duration(h.Float64() * float64(4*time.Second)))
		}
		h.after(5 * time.Minute)
		for _, pod := range h.server.Admin().Pods("n1") {
			if here[pod.Name] {
				file, err := os.ReadFile(filepath.Join(root, "pods", string(pod.UID), "volumes", "c", "k"))
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(value), string(file), "seed %d, pod %s", seed, pod.Name)
				h.delete(pod.Name, new(int64))
			}
		}
		h.after(5 * time.Minute)
		entries, err := os.ReadDir(filepath.Join(root, "pods"))
		require.NoError(t, err)
		for _, e := range entries {
			if e.Name() != ".trash" {
				t.Fatalf("seed %d: a directory is left: %s", seed, types.UID(e.Name()))
			}
		}
		h.crash()
	}
}
