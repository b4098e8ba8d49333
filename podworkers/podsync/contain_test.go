package podsync_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/memory"
)

// fuse is a store and a prober. One of its calls panics, the first time or always.
type fuse struct {
	*store
	saidProbes
	call   string
	always bool
	hits   int
}

func (f *fuse) panicAt(call string) {
	if call == f.call && (f.always || f.hits == 0) {
		f.hits++
		panic("boom")
	}
}

func (f *fuse) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	f.panicAt("Status.SetPodStatus")
	f.store.SetPodStatus(pod, status)
}

func (f *fuse) ReplacePodStatus(pod *v1.Pod, status v1.PodStatus) {
	f.panicAt("Status.ReplacePodStatus")
	f.store.ReplacePodStatus(pod, status)
}

func (f *fuse) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	f.panicAt("Status.GetPodStatus")
	return f.store.GetPodStatus(uid)
}

func (f *fuse) TerminatePod(pod *v1.Pod) {
	f.panicAt("Status.TerminatePod")
	f.store.TerminatePod(pod)
}

// readingFuse is a fuse that shows statuses without a copy.
type readingFuse struct{ *fuse }

func (f readingFuse) ReadPodStatus(uid types.UID, read func(*v1.PodStatus)) bool {
	f.panicAt("Status.ReadPodStatus")
	status, ok := f.store.GetPodStatus(uid)
	if ok {
		read(&status)
	}
	return ok
}

func (f *fuse) AddPod(pod *v1.Pod) { f.panicAt("Probes.AddPod"); f.saidProbes.AddPod(pod) }
func (f *fuse) UpdatePodStatus(pod *v1.Pod, status *v1.PodStatus) {
	f.saidProbes.UpdatePodStatus(pod, status)
	f.panicAt("Probes.UpdatePodStatus")
}

func (f *fuse) ObserveStatus(uid types.UID, status *v1.PodStatus) {
	f.panicAt("Probes.ObserveStatus")
	f.saidProbes.ObserveStatus(uid, status)
}

func (f *fuse) Failed(uid types.UID, id string) (liveness, startup bool) {
	f.panicAt("Probes.Failed")
	return f.saidProbes.Failed(uid, id)
}

func (f *fuse) Started(uid types.UID, id string) bool {
	f.panicAt("Probes.Started")
	return f.saidProbes.Started(uid, id)
}

func (f *fuse) StopLivenessAndStartup(uid types.UID) {
	f.panicAt("Probes.StopLivenessAndStartup")
	f.saidProbes.StopLivenessAndStartup(uid)
}
func (f *fuse) RemovePod(uid types.UID) { f.panicAt("Probes.RemovePod"); f.saidProbes.RemovePod(uid) }

// newFusedAgent returns a runtime, and a syncer whose store and prober have a fuse.
func newFusedAgent(t *testing.T, f *fuse) (*memory.Runtime, *podsync.Syncer, *[]string) {
	mem, told := memory.New(memory.Config{}), new([]string)
	f.saidProbes.ready = true
	syncer, st := newQuietSyncer(t, mem, func(c *podsync.Config) {
		c.Status, c.Probes = f, f
		if f.call == "Status.ReadPodStatus" {
			c.Status = readingFuse{f}
		}
		c.Hooks.Panicked = func(call string, _ error) { *told = append(*told, call) }
	})
	f.store = st
	st.write = func(string) {}
	return mem, syncer, told
}

// runPodLife takes a pod through a whole life, with the retries of the workers. It reports how
// many calls failed, or -1 if one failed every time.
func runPodLife(t *testing.T, mem *memory.Runtime, syncer *podsync.Syncer, pod *v1.Pod) (failed [3]int) {
	ctx := t.Context()
	calls := [3]func() error{
		func() error {
			_, err := syncer.SyncPod(ctx, podworkers.SyncPodUpdate, pod, nil, readPodStatus(t, mem))
			return err
		},
		func() error { return syncer.SyncTerminatingPod(ctx, pod, readPodStatus(t, mem), new(int64(1)), nil) },
		func() error { return syncer.SyncTerminatedPod(ctx, pod, readPodStatus(t, mem)) },
	}
	for i, call := range calls {
		for done := 0; done < [...]int{3, 3, 1}[i]; {
			if call() == nil {
				done++
			} else if failed[i]++; failed[i] == 10 {
				failed[i] = -1
				break
			}
		}
	}
	return failed
}

// I50: a panic of the embedder's store or prober is an error of its call. One that passes
// costs one retry at most; one that stays keeps no container from being stopped. What
// cannot be published is not acted upon.
func TestSyncer_I50_PanicsOfStatusAndProbes(t *testing.T) {
	for call, always := range map[string][3]int{
		"Status.SetPodStatus":           {-1, -1, -1},
		"Status.ReplacePodStatus":       {},
		"Status.GetPodStatus":           {-1, -1, -1},
		"Status.ReadPodStatus":          {-1, -1, 0},
		"Status.TerminatePod":           {0, 0, -1},
		"Probes.AddPod":                 {},
		"Probes.UpdatePodStatus":        {},
		"Probes.ObserveStatus":          {},
		"Probes.Failed":                 {},
		"Probes.Started":                {},
		"Probes.StopLivenessAndStartup": {},
		"Probes.RemovePod":              {},
	} {
		t.Run(call, func(t *testing.T) {
			f := &fuse{call: call}
			mem, syncer, told := newFusedAgent(t, f)
			pod := probedPod()
			failed := runPodLife(t, mem, syncer, pod)
			assert.LessOrEqual(t, failed[0]+failed[1]+failed[2], 1, "it is tried again")
			for i := range failed {
				assert.GreaterOrEqual(t, failed[i], 0)
			}
			assertEnded(t, mem, 2)
			status, _ := f.store.GetPodStatus("u")
			assert.NotEmpty(t, status.Phase)
			if call != "Status.ReplacePodStatus" { // There was no former pod.
				assert.Equal(t, []string{call}, *told)
			}

			f = &fuse{call: call, always: true}
			mem, syncer, _ = newFusedAgent(t, f)
			assert.Equal(t, always, runPodLife(t, mem, syncer, pod))
			assert.False(t, readPodStatus(t, mem).MayRun())
		})
	}
}

// assertEnded requires that each of the containers was made once, and has ended.
func assertEnded(t *testing.T, mem *memory.Runtime, containers int) {
	status := readPodStatus(t, mem)
	require.Len(t, status.Containers, containers)
	assert.False(t, status.MayRun())
}

// If the prober has no result for a container, the container is neither started nor ready.
func TestSyncPod_I50_NotReadyWithoutTheProber(t *testing.T) {
	f := &fuse{call: "Probes.UpdatePodStatus", always: true}
	mem, syncer, _ := newFusedAgent(t, f)
	pod := probedPod()
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "plain", Image: "img:1"})
	for range 3 {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, pod, nil, readPodStatus(t, mem))
		require.NoError(t, err)
	}
	status, _ := f.store.GetPodStatus("u")
	ready := map[string][2]bool{}
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			ready[list[i].Name] = [2]bool{list[i].Started != nil && *list[i].Started, list[i].Ready}
		}
	}
	assert.Equal(t, map[string][2]bool{"s": {}, "a": {true, false}, "plain": {true, true}}, ready)
}
