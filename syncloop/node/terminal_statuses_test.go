package node_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// fullDisk keeps terminal statuses while there is room.
type fullDisk struct {
	mu     sync.Mutex
	full   bool
	begin  time.Time
	said   []string
	panics bool
	never  types.UID // the pod whose status can never be saved
}

func (d *fullDisk) addLine(format string, args ...any) {
	d.said = append(d.said, fmt.Sprintf("%4.0f ", time.Since(d.begin).Seconds())+fmt.Sprintf(format, args...))
}

func (d *fullDisk) Save(pod *v1.Pod, status *v1.PodStatus) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	full := d.full || pod.UID == d.never
	d.addLine("save %s %s full=%t", pod.UID, status.Phase, full)
	if full && d.panics {
		panic("no space")
	}
	if full {
		return errors.New("no space")
	}
	return nil
}

func (d *fullDisk) Drop(uid types.UID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLine("drop %s", uid)
	return nil
}

func (d *fullDisk) Consume(*v1.Pod) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

func (d *fullDisk) Pods(func(types.UID) bool, int) ([]types.UID, error) { return nil, nil }

func (d *fullDisk) setFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

func (d *fullDisk) takeLines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	said := d.said
	d.said = nil
	return said
}

// countSyncs returns a configuration whose hook counts the syncs, and a function that returns the count.
func countSyncs(config node.Config) (node.Config, func() int) {
	var (
		mu sync.Mutex
		n  int
	)
	config.Hooks.Workers.Synced = func(podworkers.Synced) {
		mu.Lock()
		defer mu.Unlock()
		n++
	}
	return config, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

// An ending that cannot be saved, as the disk is full, is tried again at growing
// intervals, and is saved when there is room. No pod is synced for that.
func TestNode_EndingIsSavedWhenThereIsRoom(t *testing.T) {
	for _, panics := range []bool{false, true} {
		t.Run(fmt.Sprint("panics=", panics), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &fullDisk{full: true, begin: time.Now(), panics: panics}
				config, syncs := countSyncs(node.Config{Runtime: memory.New(memory.Config{}), Pods: node.PodsConfig{TerminalStatuses: disk}})
				n := runConfig(t, config)
				job := newPod("job", "sleep", "5")
				job.Spec.RestartPolicy = v1.RestartPolicyNever
				require.NoError(t, n.Apply(job))
				time.Sleep(20*time.Second + time.Second/2)
				before := syncs()
				assert.Equal(t, []string{
					"   0 drop job",
					"   5 save job Succeeded full=true", "   5 save job Succeeded full=true", "   5 save job Succeeded full=true",
					"  15 save job Succeeded full=true",
				}, disk.takeLines())
				time.Sleep(10 * time.Minute)
				assert.Equal(t, []string{
					"  35 save job Succeeded full=true", "  75 save job Succeeded full=true", " 155 save job Succeeded full=true",
					" 315 save job Succeeded full=true", " 615 save job Succeeded full=true",
				}, disk.takeLines())
				disk.setFull(false)
				time.Sleep(time.Hour)
				assert.Equal(t, []string{" 915 save job Succeeded full=false"}, disk.takeLines())
				assert.Equal(t, before, syncs(), "the pod is finished")
				require.NoError(t, n.stopNode())
			})
		})
	}
}

// TestNode_EndingOfWhatIsGoneIsNotSaved: the status of an undesired pod is not saved, and a new pod of
// its UID does not get that status.
func TestNode_EndingOfWhatIsGoneIsNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &fullDisk{full: true, begin: time.Now()}
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{}), Pods: node.PodsConfig{TerminalStatuses: disk}})
		job := newPod("job", "sleep", "5")
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		require.NoError(t, n.Apply(job))
		time.Sleep(6 * time.Second)
		n.Delete("job")
		time.Sleep(6 * time.Second)
		require.NoError(t, n.Apply(newPod("job", "serve")))
		time.Sleep(time.Second)
		disk.setFull(false)
		time.Sleep(time.Hour)
		assert.Equal(t, []string{
			"   0 drop job", "   5 save job Succeeded full=true", "   5 save job Succeeded full=true", "   5 save job Succeeded full=true", "  12 drop job",
		}, disk.takeLines())
		require.NoError(t, n.stopNode())
	})
}

// What could not be saved is tried a last time when the node ends.
func TestNode_EndingIsSavedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &fullDisk{full: true, begin: time.Now()}
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{}), Pods: node.PodsConfig{TerminalStatuses: disk}})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		_, err := n.Evict("web", node.Eviction{Message: "for the test"})
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		disk.takeLines()
		disk.setFull(false)
		require.NoError(t, n.stopNode())
		assert.Equal(t, []string{"   3 save web Failed full=false"}, disk.takeLines())
	})
}

// TestNode_EndingThatIsNeverSavedKeepsNoOtherFromIt: a status that can never be saved does not block
// others, and retries have a fixed order.
func TestNode_EndingThatIsNeverSavedKeepsNoOtherFromIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &fullDisk{full: true, begin: time.Now(), never: "job-b"}
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{}), Pods: node.PodsConfig{TerminalStatuses: disk}})
		var want []string
		for _, name := range []string{"job-a", "job-b", "job-c", "job-d", "job-e", "job-f"} {
			job := newPod(name, "sleep", "5")
			job.Spec.RestartPolicy = v1.RestartPolicyNever
			require.NoError(t, n.Apply(job))
			want = append(want, fmt.Sprintf("  15 save %s Succeeded full=%t", name, name == "job-b"))
		}
		time.Sleep(10 * time.Second)
		disk.takeLines()
		disk.setFull(false)
		time.Sleep(6 * time.Second)
		assert.Equal(t, want, disk.takeLines())
		require.NoError(t, n.stopNode())
	})
}

// slowDisk is one on which a Save takes a while, and that counts the calls for one pod
// that are under way at once.
type slowDisk struct {
	fullDisk
	wait        func()
	now, atOnce int
}

func (d *slowDisk) countDuring(f func() error) error {
	d.mu.Lock()
	d.now++
	d.atOnce = max(d.atOnce, d.now)
	d.mu.Unlock()
	d.wait()
	err := f()
	d.mu.Lock()
	d.now--
	d.mu.Unlock()
	return err
}

// mostAtOnce returns the largest number of concurrent calls.
func (d *slowDisk) mostAtOnce() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.atOnce
}

func (d *slowDisk) Save(pod *v1.Pod, status *v1.PodStatus) error {
	return d.countDuring(func() error { return d.fullDisk.Save(pod, status) })
}

func (d *slowDisk) Drop(uid types.UID) error {
	return d.countDuring(func() error { return d.fullDisk.Drop(uid) })
}

// The calls of the store for one pod are made one after the other, although no lock is held during them. If an attempt
// to save is under way when the pod is added again, the attempt ends before the terminal status is dropped.
func TestNode_EndingsOfOnePodComeOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{fullDisk: fullDisk{full: true, begin: time.Now()}, wait: func() { time.Sleep(3 * time.Second) }}
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{}), Pods: node.PodsConfig{TerminalStatuses: disk}})
		job := newPod("job", "sleep", "5")
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		require.NoError(t, n.Apply(job))
		time.Sleep(45 * time.Second)
		n.Delete("job")
		require.NoError(t, n.Apply(newPod("job", "serve")))
		time.Sleep(time.Hour)
		assert.Equal(t, 1, disk.mostAtOnce())
		assert.Equal(t, []string{
			"   3 drop job", "  11 save job Succeeded full=true", "  14 save job Succeeded full=true", "  17 save job Succeeded full=true",
			"  24 save job Succeeded full=true", "  47 save job Succeeded full=true", "  50 drop job", "  53 drop job",
		}, disk.takeLines())
		require.NoError(t, n.stopNode())
	})
}

// SL-20: the refusal of a pod of the host program is kept for the next agent, on a full disk as soon as
// there is room. The refusal of a node that drains is not, as the pods that it stops may run again, too.
func TestNode_SL20_RefusalIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &fullDisk{full: true, begin: time.Now()}
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{}), Pods: node.PodsConfig{TerminalStatuses: disk}, Scheduling: node.SchedulingConfig{MaxPods: 1}})
		require.NoError(t, n.Apply(newPod("first", "serve")))
		time.Sleep(time.Second)
		require.NoError(t, n.Apply(newPod("second", "serve")))
		time.Sleep(15 * time.Second)
		disk.setFull(false)
		time.Sleep(time.Minute)
		require.NoError(t, n.Drain(t.Context(), node.DrainOptions{}))
		require.NoError(t, n.Apply(newPod("third", "serve")))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{
			"   0 drop first", "   1 save second Failed full=true", "  11 save second Failed full=true", "  31 save second Failed full=false",
		}, disk.takeLines())
		require.NoError(t, n.stopNode())
	})
}
