package merge_test

import (
	"fmt"
	"slices"
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

// TestStories_CF1toCF8 runs testdata: `set` delivers a snapshot, one pod a line; `take` prints the
// changes for the consumer.
func TestStories_CF1toCF8(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s both
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var at int
			if d.HasArg("at") {
				d.ScanArgs(t, "at", &at)
			}
			s.now = epoch.Add(time.Duration(at) * time.Second)
			switch d.Cmd {
			case "set":
				s.replaceAll(parsePods(t, d.Input))
			case "put":
				s.putPod(parsePods(t, d.Input)[0])
			case "remove":
				s.removePod(types.UID(strings.TrimSpace(d.Input)))
			case "take":
				return formatChanges(s.takeChanges(t))
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return fmt.Sprintf("%d pods\n", s.tracker.Len())
		})
	})
}

// TestTracker_IsTheReference: single changes and whole lists, in any order and with any fault, have
// the same result as the difference of two whole snapshots.
func TestTracker_IsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s both
		if rapid.Bool().Draw(t, "owned") {
			s.tracker.SetOwner("file")
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			s.now = epoch.Add(time.Duration(i) * time.Second)
			s.guarded = rapid.Bool().Draw(t, "guarded")
			switch rapid.SampledFrom([]string{"put", "put", "put", "remove", "remove", "replace", "same", "take"}).Draw(t, "step") {
			case "put":
				s.putPod(drawAny(t))
			case "remove":
				s.removePod(types.UID(rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "removed")))
			case "replace":
				s.replaceAll(rapid.SliceOfN(rapid.Custom(drawAny), 0, 6).Draw(t, "pods"))
			case "same": // The same list with some newer objects.
				pods := slices.Clone(s.list)
				for i := range pods {
					if pods[i] != nil && rapid.Bool().Draw(t, "newer") {
						pods[i] = pods[i].DeepCopy()
						pods[i].Labels = map[string]string{"l": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "label")}
					}
				}
				s.replaceAll(pods)
			case "take":
				s.takeChanges(t)
			}
		}
		s.takeChanges(t)
		require.Empty(t, formatChanges(s.tracker.Consume().Changes("file"))[len("nothing\n"):])
	})
}

// drawAny returns a random pod, perhaps with a fault.
func drawAny(t *rapid.T) *v1.Pod {
	if rapid.IntRange(0, 20).Draw(t, "nil") == 0 {
		return nil
	}
	pod := &v1.Pod{}
	pod.UID = types.UID(rapid.SampledFrom([]string{"a", "b", "c", "d", "a", "b", "c", "d", ""}).Draw(t, "uid"))
	pod.Name = rapid.SampledFrom([]string{string(pod.UID), string(pod.UID), string(pod.UID), "a", "b", ""}).Draw(t, "name")
	pod.Spec.Containers = []v1.Container{{Name: "c", Image: rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "image")}}
	pod.Spec.Hostname = rapid.SampledFrom([]string{"", "", "other"}).Draw(t, "rebuilt")
	pod.Status.Phase = rapid.SampledFrom([]v1.PodPhase{"", v1.PodRunning}).Draw(t, "phase")
	if rapid.IntRange(0, 4).Draw(t, "deleted") == 0 {
		pod.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	return pod
}

// both is a Tracker, the reference, and the list of the source.
type both struct {
	tracker       merge.Tracker
	taken, latest *merge.Snapshot
	list          []*v1.Pod
	guarded       bool
	now           time.Time
}

func (s *both) replaceAll(pods []*v1.Pod) {
	s.list = slices.Clone(pods)
	s.latest = s.latest.Next(pods, s.guarded, s.now)
	s.tracker.Replace(pods, s.guarded, s.now)
}

func (s *both) putPod(pod *v1.Pod) {
	s.tracker.Put(pod, s.guarded, s.now)
	if s.latest == nil {
		return
	}
	same := func(p *v1.Pod) bool { return pod != nil && p != nil && p.UID == pod.UID }
	if i := slices.IndexFunc(s.list, same); i >= 0 {
		s.list[i] = pod
	} else {
		s.list = append(s.list, pod)
	}
	s.latest = s.latest.Next(slices.Clone(s.list), s.guarded, s.now)
}

func (s *both) removePod(uid types.UID) {
	s.tracker.Remove(uid, s.guarded, s.now)
	if s.latest == nil {
		return
	}
	s.list = slices.DeleteFunc(s.list, func(p *v1.Pod) bool { return p != nil && p.UID == uid })
	s.latest = s.latest.Next(slices.Clone(s.list), s.guarded, s.now)
}

// takeChanges compares the changes of the Tracker with the changes of the reference. If the order of the source has changed in
// between, the order of removed pods may differ.
func (s *both) takeChanges(t require.TestingT) merge.Changes {
	want := merge.Diff(s.taken, s.latest, "file")
	s.taken = s.latest
	got := s.tracker.Consume().Changes("file")
	inOrder := func(a, b *v1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) }
	removed := slices.SortedFunc(slices.Values(got.Remove), inOrder)
	slices.SortFunc(want.Remove, inOrder)
	exact := got
	exact.Remove = removed
	require.Equal(t, formatChanges(want), formatChanges(exact))
	require.Equal(t, s.latest.Len(), s.tracker.Len())
	return got
}

// TestTracker_ChangesCostWhatTheyAre: a change of one pod among many does not visit the others, and
// holes are removed.
func TestTracker_ChangesCostWhatTheyAre(t *testing.T) {
	var tracker merge.Tracker
	pods := make([]*v1.Pod, 1000)
	for i := range pods {
		pods[i] = &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(i)), Name: strconv.Itoa(i)}}
	}
	tracker.Replace(pods, false, epoch)
	tracker.Consume()
	other := pods[7].DeepCopy()
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		tracker.Put(other, false, epoch)
		tracker.Consume()
	}), 5.0)
	for range 3000 {
		tracker.Remove("7", false, epoch)
		tracker.Put(other, false, epoch)
	}
	assert.LessOrEqual(t, tracker.Places(), 2*len(pods)+10)
	assert.Len(t, tracker.Consume().Changes("file").Remove, 1)
}

// parsePods parses one pod per line: key=value words, or "nil".
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
			setField(t, pod, key, value)
		}
		pods = append(pods, pod)
	}
	return pods
}

func setField(t *testing.T, pod *v1.Pod, key, value string) {
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

func formatChanges(c merge.Changes) string {
	var out strings.Builder
	list := func(op string, pods []*v1.Pod, always bool) {
		if len(pods) == 0 && !always {
			return
		}
		out.WriteString(op)
		for _, p := range pods {
			seen, _ := time.Parse(time.RFC3339Nano, p.Annotations[merge.SeenAnnotation])
			var image string
			for _, c := range p.Spec.Containers {
				image = c.Image
			}
			fmt.Fprintf(&out, " %s/%s(%s from=%s seen=%v)", p.UID, p.Name, image,
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

// TestDiff_CF8_Copies: a delivered pod is a copy with annotations of its own, so that the source's
// object stays unchanged. Everything else is shared.
func TestDiff_CF8_Copies(t *testing.T) {
	pod := parsePods(t, "uid=a name=a label=1 k=v")[0]
	before := pod.DeepCopy()
	var s both
	s.replaceAll([]*v1.Pod{pod})
	got := s.takeChanges(t).Add[0]
	assert.Equal(t, before, pod, "the stamp is on the copy only")
	assert.Len(t, got.Annotations, 3)
	assert.Same(t, &pod.Spec.Containers[0], &got.Spec.Containers[0])
	s.replaceAll(nil)
	assert.Equal(t, got, s.takeChanges(t).Remove[0])
	assert.Equal(t, before, pod)
}

// TestTracker_Own_CF8: a pod that the Tracker owns gets its annotations once and is delivered
// itself. A pod that may have been delivered before is copied.
func TestTracker_Own_CF8(t *testing.T) {
	pod := parsePods(t, "uid=a name=a k=v")[0]
	s := both{now: epoch}
	s.tracker.SetOwner("file")
	s.replaceAll([]*v1.Pod{pod})
	got := s.takeChanges(t).Add[0]
	assert.Same(t, pod, got)
	stamped := pod.DeepCopy()

	s.now = epoch.Add(time.Second)
	again := *pod
	again.Status.Phase = v1.PodRunning
	s.putPod(&again)
	updated := s.takeChanges(t).Reconcile[0]
	assert.NotSame(t, &again, updated)
	assert.Equal(t, stamped.Annotations, updated.Annotations)
	s.replaceAll(nil)
	assert.Equal(t, updated, s.takeChanges(t).Remove[0])
	assert.Equal(t, stamped, pod, "what was delivered is never changed")
}

// A pod with a quantity that would need all memory to compare is rejected, and is never compared,
// neither as a new pod nor as a new version.
func TestNext_QuantityOutOfRange(t *testing.T) {
	before := parsePods(t, "uid=a name=a")
	before[0].Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	huge := before[0].DeepCopy()
	huge.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1e2000000000")}
	for range 2 {
		var s both
		if before != nil {
			s.replaceAll(before)
			s.takeChanges(t)
		}
		before = nil
		s.replaceAll([]*v1.Pod{huge})
		rejected := s.takeChanges(t).Rejected
		require.Len(t, rejected, 1)
		assert.ErrorContains(t, rejected[0].Err, "spec.overhead[cpu]: expected a quantity of at most 64 characters")
	}
}

// TestDiff_SameObjectIsNotCompared: an unchanged pod costs no comparison and no allocation, so a
// small change among many pods is cheap.
func TestDiff_SameObjectIsNotCompared(t *testing.T) {
	pods := parsePods(t, "uid=a name=a\nuid=b name=b")
	var tracker merge.Tracker
	tracker.Replace(pods, false, epoch)
	tracker.Consume()
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		tracker.Replace(pods, false, epoch)
		tracker.Consume().Changes("file")
	}))
}

// TestDiff_AnyConsumerEndsWithTheSamePods: a consumer may read after any snapshots. The changes that
// it has got add up to the newest snapshot. It never gets an ADD for a pod that it has, nor a
// change of a pod that it does not have. A pod that was away in between is removed and added.
func TestDiff_AnyConsumerEndsWithTheSamePods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s both
		has := map[types.UID]string{}  // the pods of the consumer
		broken := map[types.UID]bool{} // removed since the last take
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			pods := drawPods(t)
			s.replaceAll(pods)
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
			c := s.takeChanges(t)
			applyChanges(t, c, has, broken)
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

func applyChanges(t *rapid.T, c merge.Changes, has map[types.UID]string, broken map[types.UID]bool) {
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

// TestDiff_NothingNew: without a snapshot, or with the snapshot that it took last, the Tracker changes nothing, and
// does not count it as the first snapshot of the source.
func TestDiff_NothingNew(t *testing.T) {
	var tracker merge.Tracker
	assert.Zero(t, tracker.Len())
	assert.False(t, tracker.HasSnapshot())
	tracker.Put(parsePods(t, "uid=a name=a")[0], false, epoch)
	tracker.Remove("b", false, epoch)
	assert.Equal(t, merge.Changes{}, tracker.Consume().Changes("file"), "a change is of what the source has")
	assert.False(t, tracker.IsConsumed())
	tracker.Replace(parsePods(t, "uid=a name=a\nuid=a name=b"), false, epoch)
	assert.Equal(t, 1, tracker.Len())
	assert.True(t, tracker.HasSnapshot())
	tracker.Consume()
	assert.True(t, tracker.IsConsumed())
	assert.Equal(t, merge.Changes{}, tracker.Consume().Changes("file"), "what was rejected is not told again")
}

// TestNext_SameNumberOfOtherPods: a list of the same length may have other pods.
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
			s := both{now: epoch}
			s.replaceAll(parsePods(t, c.before))
			s.takeChanges(t)
			s.now = epoch.Add(time.Second)
			s.replaceAll(parsePods(t, c.now))
			assert.Equal(t, c.want, formatChanges(s.takeChanges(t)))
			s.replaceAll(parsePods(t, c.now))
			assert.Equal(t, "nothing\n", formatChanges(s.takeChanges(t)))
		})
	}
}

// TestDiff_Annotations: another value of an annotation is an update; the same value is not.
func TestDiff_Annotations(t *testing.T) {
	for now, want := range map[string]string{
		"uid=a name=a k=1": "nothing\n",
		"uid=a name=a k=2": "UPDATE a/a(v1 from=file seen=0)\n",
		"uid=a name=a l=1": "UPDATE a/a(v1 from=file seen=0)\n",
		"uid=a name=a":     "UPDATE a/a(v1 from=file seen=0)\n",
	} {
		s := both{now: epoch}
		s.replaceAll(parsePods(t, "uid=a name=a k=1"))
		s.takeChanges(t)
		s.replaceAll(parsePods(t, now))
		assert.Equal(t, want, formatChanges(s.takeChanges(t)), now)
	}
}
