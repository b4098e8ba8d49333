package podsync_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/memory"
)

// shown is a store that is a StatusReader: what it shows changes only with news.
type shown struct {
	*store
	status  *v1.PodStatus
	refuses bool
}

func (s *shown) SetPodStatus(_ *v1.Pod, status v1.PodStatus) {
	if s.refuses {
		return
	}
	if s.status == nil || !equality.Semantic.DeepEqual(*s.status, status) {
		s.status = status.DeepCopy()
	}
}

func (s *shown) GetPodStatus(types.UID) (v1.PodStatus, bool) {
	if s.status == nil {
		return v1.PodStatus{}, false
	}
	return *s.status.DeepCopy(), true
}

func (s *shown) ReadPodStatus(_ types.UID, read func(*v1.PodStatus)) bool {
	if s.status == nil {
		return false
	}
	read(s.status)
	return true
}

// stability is a syncer whose pods can be asked for.
type stability struct {
	t      *testing.T
	mem    *memory.Runtime
	syncer *podsync.Syncer
	store  *shown
}

func newStability(t *testing.T, change ...func(*podsync.Config)) *stability {
	w := &stability{t: t, mem: memory.New(memory.Config{}), store: &shown{store: &store{write: func(string) {}}}}
	reads := func(c *podsync.Config) { c.Status = w.store }
	w.syncer, _ = newQuietSyncer(t, w.mem, append([]func(*podsync.Config){reads}, change...)...)
	return w
}

// syncPod syncs a pod and reports whether it is stable with what the runtime shows then.
func (w *stability) syncPod(pod *v1.Pod) bool {
	_, err := w.syncer.SyncPod(w.t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(w.t, w.mem))
	require.NoError(w.t, err)
	return w.isStable(pod)
}

func (w *stability) isStable(pod *v1.Pod) bool {
	return w.syncer.IsStable(w.t.Context(), pod, readPodStatus(w.t, w.mem))
}

// B-099: a pod is stable after a sync that found nothing to do, until one of these changes: the pod,
// its observed status, its stored status, or the addresses of the node.
func TestIsStable_B099(t *testing.T) {
	ips := []string{"192.0.2.1"}
	w := newStability(t, func(c *podsync.Config) { c.NodeIPs = func() []string { return ips } })
	pod := plainPod()
	assert.False(t, w.isStable(pod), "it was never synced")
	assert.False(t, w.syncPod(pod), "it was started")
	assert.True(t, w.syncPod(pod))
	assert.True(t, w.isStable(pod))

	assert.False(t, w.isStable(plainPod()), "another form of the pod")
	assert.True(t, w.isStable(pod))
	assert.False(t, w.syncer.IsStable(t.Context(), pod, nil), "nothing is known of it")
	assert.False(t, w.syncer.IsStable(podworkers.WithIncarnation(t.Context(), 2), pod, readPodStatus(t, w.mem)), "the next incarnation of its UID")

	ips = []string{"192.0.2.2"}
	assert.False(t, w.isStable(pod), "another address of the node")
	assert.True(t, w.syncPod(pod))
	assert.Equal(t, "192.0.2.2", w.store.status.HostIP)

	w.store.status = w.store.status.DeepCopy()
	assert.False(t, w.isStable(pod), "another component has stored a status")
	assert.True(t, w.syncPod(pod))
	w.store.status = nil
	assert.False(t, w.isStable(pod), "nothing is stored of it")
	assert.True(t, w.syncPod(pod))

	require.NoError(t, w.mem.ExitContainer(readPodStatus(t, w.mem).Containers[0].ID, 1))
	assert.False(t, w.isStable(pod), "the runtime shows something else")
	assert.False(t, w.syncPod(pod), "it was started again")
	assert.True(t, w.syncPod(pod))
}

// B-099: a pod that is looked at without an event is never stable, nor is any pod whose stored
// status cannot be compared.
func TestIsStable_B099_Never(t *testing.T) {
	for name, change := range map[string]func(*v1.Pod){
		"deadline": func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(600)) },
		"volumes":  func(p *v1.Pod) { p.Spec.Volumes = []v1.Volume{{Name: "v"}} },
		"probe":    func(p *v1.Pod) { p.Spec.Containers[0].LivenessProbe = &v1.Probe{} },
		"waits":    func(p *v1.Pod) { p.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=0s exit=1"} },
	} {
		t.Run(name, func(t *testing.T) {
			w, pod := newStability(t), plainPod(change)
			for range 3 {
				_, _ = w.syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, w.mem))
				assert.False(t, w.isStable(pod))
			}
		})
	}
	t.Run("copies", func(t *testing.T) {
		w, pod := newStability(t, func(c *podsync.Config) {
			c.Status = &store{write: func(string) {}, statuses: map[types.UID]v1.PodStatus{}}
		}), plainPod()
		for range 3 {
			assert.False(t, w.syncPod(pod))
		}
	})
}

// B-099: a pod with an unpublished start is not stable.
func TestIsStable_B099_Untold(t *testing.T) {
	w, pod := newStability(t), plainPod()
	assert.False(t, w.syncPod(pod))
	w.store.refuses = true
	assert.False(t, w.syncPod(pod))
	assert.False(t, w.syncPod(pod))
	w.store.refuses = false
	assert.True(t, w.syncPod(pod))
}

// B-099: what failed and is to be done again at the next sync keeps a pod from being stable.
func TestIsStable_B099_Owed(t *testing.T) {
	ends := &stubborn{err: errors.New("the disk is full")}
	w, pod := newStability(t, func(c *podsync.Config) { c.TerminalStatuses = ends }), plainPod()
	for range 3 {
		assert.False(t, w.syncPod(pod))
	}
	ends.err = nil
	assert.True(t, w.syncPod(pod))
}

// B-099, KC-9: a termination message that could not be read is read again at the next sync.
func TestIsStable_B099_KC9_Unread(t *testing.T) {
	rt := &speaker{log: "no config", err: errors.New("the disk is slow")}
	w := newStability(t, func(c *podsync.Config) { rt.Runtime, c.Runtime = c.Runtime, rt })
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.RestartPolicy = v1.RestartPolicyNever
		p.Spec.Containers[0].TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "b", Image: "img"})
		p.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=0s exit=1"}
	})
	message := func() string { return w.store.status.ContainerStatuses[0].State.Terminated.Message }
	for range 3 {
		assert.False(t, w.syncPod(pod))
	}
	assert.Equal(t, "the termination message cannot be read: log: the disk is slow", message())
	rt.err = nil
	assert.True(t, w.syncPod(pod))
	assert.Equal(t, "no config", message())
}

// B-099: the saved state of a replaced container is dropped before its pod is stable.
func TestIsStable_B099_Replaced(t *testing.T) {
	kept := &keeper{err: errors.New("the disk is full")}
	w := newStability(t, func(c *podsync.Config) { c.ContainerStates = kept })
	onFailure := func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyOnFailure }
	pod := plainPod(onFailure)
	w.syncPod(pod)
	assert.True(t, w.syncPod(pod))
	pod = plainPod(onFailure, func(p *v1.Pod) { p.Spec.Containers[0].Image = "img:2" })
	for range 4 {
		assert.False(t, w.syncPod(pod))
	}
	kept.err = nil
	w.syncPod(pod)
	assert.True(t, w.syncPod(pod))
	assert.Equal(t, []string{"save", "drop", "drop", "drop", "drop"}, kept.calls)
}

// keeper are ContainerStates whose DropContainers fails.
type keeper struct {
	err   error
	calls []string
}

func (k *keeper) SaveContainers(*v1.Pod, []podsync.ContainerState) error {
	k.calls = append(k.calls, "save")
	return nil
}

func (*keeper) ConsumeContainers(*v1.Pod) []podsync.ContainerState { return nil }

func (k *keeper) DropContainers(types.UID) error {
	k.calls = append(k.calls, "drop")
	return k.err
}

// stubborn are TerminalStatuses whose Drop fails.
type stubborn struct {
	podsync.TerminalStatuses
	err error
}

func (s *stubborn) Drop(types.UID) error { return s.err }
