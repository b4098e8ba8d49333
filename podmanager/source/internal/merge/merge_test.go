package merge_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestStories_CF1toCF8 replays testdata: `set` hands over a snapshot, one pod
// a line; `take` prints what the consumer is told.
func TestStories_CF1toCF8(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var taken, latest *merge.Snapshot
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "set":
				var at int
				d.ScanArgs(t, "at", &at)
				latest = latest.Next(parsePods(t, d.Input), false, epoch.Add(time.Duration(at)*time.Second))
				return fmt.Sprintf("%d pods\n", latest.Len())
			case "take":
				c := merge.Diff(taken, latest, "file")
				taken = latest
				return print(c)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// parsePods reads one pod a line: key=value words, or "nil".
func parsePods(t *testing.T, input string) []*v1.Pod {
	var pods []*v1.Pod
	for line := range strings.Lines(input) {
		if line = strings.TrimSpace(line); line == "nil" {
			pods = append(pods, nil)
			continue
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
		pod.Spec.Containers = []v1.Container{{Name: "c", Image: "v1"}}
		for _, word := range strings.Fields(line) {
			key, value, _ := strings.Cut(word, "=")
			set(t, pod, key, value)
		}
		pods = append(pods, pod)
	}
	return pods
}

func set(t *testing.T, pod *v1.Pod, key, value string) {
	switch key {
	case "uid":
		pod.UID = types.UID(value)
	case "name":
		pod.Name = value
	case "ns":
		pod.Namespace = value
	case "image":
		pod.Spec.Containers[0].Image = value
	case "command":
		pod.Spec.Containers[0].Command = []string{value}
	case "spec-grace":
		seconds, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err)
		pod.Spec.TerminationGracePeriodSeconds = &seconds
	case "label":
		pod.Labels = map[string]string{"l": value}
	case "owner":
		pod.OwnerReferences = []metav1.OwnerReference{{Name: value}}
	case "phase":
		pod.Status.Phase = v1.PodPhase(value)
	case "deleted":
		seconds, err := strconv.Atoi(value)
		require.NoError(t, err)
		pod.DeletionTimestamp = &metav1.Time{Time: epoch.Add(time.Duration(seconds) * time.Second)}
	case "grace":
		seconds, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err)
		pod.DeletionGracePeriodSeconds = &seconds
	default:
		pod.Annotations = map[string]string{key: value}
	}
}

func print(c merge.Changes) string {
	var out strings.Builder
	list := func(op string, pods []*v1.Pod, always bool) {
		if len(pods) == 0 && !always {
			return
		}
		out.WriteString(op)
		for _, p := range pods {
			seen, _ := time.Parse(time.RFC3339Nano, p.Annotations[merge.SeenAnnotation])
			fmt.Fprintf(&out, " %s/%s(%s from=%s seen=%v)", p.UID, p.Name, p.Spec.Containers[0].Image,
				p.Annotations[merge.SourceAnnotation], seen.Sub(epoch).Seconds())
		}
		out.WriteString("\n")
	}
	list("REMOVE", c.Remove, false)
	list("ADD", c.Add, c.First && len(c.Add) == 0)
	list("UPDATE", c.Update, false)
	list("DELETE", c.Delete, false)
	list("RECONCILE", c.Reconcile, false)
	for _, r := range c.Rejected {
		fmt.Fprintf(&out, "rejected: %v\n", r.Err)
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

// TestDiff_CF8_DeepCopies: what the consumer does to its copy reaches neither
// the source's object nor the next delivery.
func TestDiff_CF8_DeepCopies(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "a", Labels: map[string]string{"l": "1"}}}
	var none *merge.Snapshot
	first := none.Next([]*v1.Pod{pod}, false, epoch)
	got := merge.Diff(nil, first, "file").Add[0]
	got.Labels["l"] = "spoilt"

	assert.Equal(t, "1", pod.Labels["l"])
	assert.Empty(t, pod.Annotations, "the stamp is on the copy only")
	removed := merge.Diff(first, first.Next(nil, false, epoch), "file").Remove[0]
	assert.Equal(t, "1", removed.Labels["l"])
}

// A pod with a quantity that would take all memory to compare is rejected, and compared with
// no other, new or in place of another.
func TestNext_QuantityOutOfRange(t *testing.T) {
	before := parsePods(t, "uid=a name=a")
	before[0].Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	huge := before[0].DeepCopy()
	huge.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1e2000000000")}
	var none *merge.Snapshot
	first := none.Next(before, false, epoch)
	for _, old := range []*merge.Snapshot{nil, first} {
		next := old.Next([]*v1.Pod{huge}, false, epoch)
		assert.Zero(t, next.Len())
		rejected := merge.Diff(old, next, "file").Rejected
		require.Len(t, rejected, 1)
		assert.ErrorContains(t, rejected[0].Err, "spec.overhead[cpu]: expected a quantity of at most 64 characters")
	}
}

// TestDiff_SameObjectIsNotCompared: an unchanged pod costs no comparison and no
// allocation, which is what makes a small change among many pods cheap.
func TestDiff_SameObjectIsNotCompared(t *testing.T) {
	pods := parsePods(t, "uid=a name=a\nuid=b name=b")
	var none *merge.Snapshot
	first := none.Next(pods, false, epoch)
	second := first.Next(pods, false, epoch)
	assert.Zero(t, testing.AllocsPerRun(10, func() { merge.Diff(first, second, "file") }))
}

// TestDiff_AnyTakerEndsWithTheSamePods: however a consumer's takes fall between
// the snapshots, what it was told adds up to the newest snapshot, it is never
// told to add what it has or to change what it has not, and a pod that was away
// in between is removed and added.
func TestDiff_AnyTakerEndsWithTheSamePods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var taken, latest *merge.Snapshot
		has := map[types.UID]string{}  // what the consumer believes
		broken := map[types.UID]bool{} // what was away since the last take
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			pods := drawPods(t)
			latest = latest.Next(pods, false, epoch)
			now := map[types.UID]string{}
			for _, p := range pods {
				now[p.UID] = p.Spec.Containers[0].Image
			}
			for uid := range has {
				if _, ok := now[uid]; !ok {
					broken[uid] = true
				}
			}
			if !rapid.Bool().Draw(t, "take") {
				continue
			}
			c := merge.Diff(taken, latest, "file")
			taken = latest
			apply(t, c, has, broken)
			clear(broken)
			require.Equal(t, now, has)
		}
	})
}

func drawPods(t *rapid.T) []*v1.Pod {
	var pods []*v1.Pod
	for _, uid := range []string{"a", "b", "c"} {
		image := rapid.SampledFrom([]string{"", "v1", "v2"}).Draw(t, uid)
		if image == "" {
			continue
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: uid}}
		pod.Spec.Containers = []v1.Container{{Image: image}}
		pods = append(pods, pod)
	}
	return pods
}

func apply(t *rapid.T, c merge.Changes, has map[types.UID]string, broken map[types.UID]bool) {
	for _, p := range c.Remove {
		require.Contains(t, has, p.UID, "removed what was not there")
		delete(has, p.UID)
		delete(broken, p.UID)
	}
	require.Empty(t, broken, "a pod that was away was not removed")
	for _, p := range c.Add {
		require.NotContains(t, has, p.UID, "added twice")
		has[p.UID] = p.Spec.Containers[0].Image
	}
	for _, p := range c.Update {
		require.Contains(t, has, p.UID, "updated what was not there")
		require.NotEqual(t, has[p.UID], p.Spec.Containers[0].Image, "updated for nothing")
		has[p.UID] = p.Spec.Containers[0].Image
	}
}

// TestDiff_NothingNew: no snapshot, or the one that was taken, changes nothing, and is
// not the source's first word.
func TestDiff_NothingNew(t *testing.T) {
	var none *merge.Snapshot
	assert.Zero(t, none.Len())
	assert.Equal(t, merge.Changes{}, merge.Diff(nil, nil, "file"))
	first := none.Next(parsePods(t, "uid=a name=a\nuid=a name=b"), false, epoch)
	assert.Equal(t, 1, first.Len())
	assert.Equal(t, merge.Changes{}, merge.Diff(first, first, "file"), "what was rejected is not told again")
	assert.Equal(t, merge.Changes{}, merge.Diff(first, nil, "file"))
}

// TestNext_SameNumberOfOtherPods: as many pods as before need not be the same ones.
func TestNext_SameNumberOfOtherPods(t *testing.T) {
	for name, c := range map[string]struct{ before, now, want string }{
		"another UID":        {"uid=a name=a", "uid=b name=a", "REMOVE a/a(v1 from=file seen=0)\nADD b/a(v1 from=file seen=1)\n"},
		"another name":       {"uid=a name=a", "uid=a name=b", "REMOVE a/a(v1 from=file seen=0)\nADD a/b(v1 from=file seen=1)\n"},
		"another namespace":  {"uid=a name=a", "uid=a name=a ns=x", "REMOVE a/a(v1 from=file seen=0)\nADD a/a(v1 from=file seen=1)\n"},
		"another order":      {"uid=a name=a\nuid=b name=b", "uid=b name=b\nuid=a name=a image=v2", "UPDATE a/a(v2 from=file seen=0)\n"},
		"nil":                {"uid=a name=a", "nil", "REMOVE a/a(v1 from=file seen=0)\nrejected: pod without identity: nil\n"},
		"the same, rejected": {"uid=a name=a\nuid=a name=b", "uid=a name=a\nuid=c name=c", "ADD c/c(v1 from=file seen=1)\n"},
		"one pod less":       {"uid=a name=a\nuid=b name=b", "uid=a name=a", "REMOVE b/b(v1 from=file seen=0)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var none *merge.Snapshot
			before := none.Next(parsePods(t, c.before), false, epoch)
			now := before.Next(parsePods(t, c.now), false, epoch.Add(time.Second))
			assert.Equal(t, c.want, print(merge.Diff(before, now, "file")))
			assert.Equal(t, "nothing\n", print(merge.Diff(now, now.Next(parsePods(t, c.now), false, epoch.Add(time.Hour)), "file")))
		})
	}
}

// TestDiff_Annotations: a value that was changed is an update; the same one is not.
func TestDiff_Annotations(t *testing.T) {
	for now, want := range map[string]string{
		"uid=a name=a k=1": "nothing\n",
		"uid=a name=a k=2": "UPDATE a/a(v1 from=file seen=0)\n",
		"uid=a name=a l=1": "UPDATE a/a(v1 from=file seen=0)\n",
		"uid=a name=a":     "UPDATE a/a(v1 from=file seen=0)\n",
	} {
		var none *merge.Snapshot
		before := none.Next(parsePods(t, "uid=a name=a k=1"), false, epoch)
		assert.Equal(t, want, print(merge.Diff(before, before.Next(parsePods(t, now), false, epoch), "file")), now)
	}
}

// TestNext_SamePodsCostNoIndex: a snapshot of the same pods is two allocations, however
// many they are.
func TestNext_SamePodsCostNoIndex(t *testing.T) {
	pods := make([]*v1.Pod, 100)
	for i := range pods {
		pods[i] = &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(i)), Name: strconv.Itoa(i)}}
	}
	var none *merge.Snapshot
	first := none.Next(pods, false, epoch)
	assert.Equal(t, 2.0, testing.AllocsPerRun(10, func() { first.Next(pods, false, epoch) }))
}
