package podmanager_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
)

// newPod builds a pod of the namespace "ns" with annotations as key, value pairs.
func newPod(uid, name string, annotations ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: name, Namespace: "ns"}}
	for i := 0; i < len(annotations); i += 2 {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotations[i], annotations[i+1])
	}
	return p
}

func staticPod(uid, name string) *v1.Pod {
	return newPod(uid, name, podmanager.ConfigSourceAnnotation, "file", podmanager.ConfigHashAnnotation, "h-"+uid)
}

func mirrorPod(uid, name string) *v1.Pod {
	return newPod(uid, name, podmanager.ConfigSourceAnnotation, "api", podmanager.ConfigMirrorAnnotation, "h")
}

func storeOf(pods ...*v1.Pod) *podmanager.Store {
	s := podmanager.New()
	for _, p := range pods {
		s.AddPod(p)
	}
	return s
}

func TestStore_B151_PodsAndMirrorsAreKeptApart(t *testing.T) {
	p, st, m := newPod("p", "api-pod"), staticPod("s", "web"), mirrorPod("m", "web")
	s := storeOf(p, st, m)

	for _, want := range []*v1.Pod{p, st} {
		got, ok := s.GetPodByUID(want.UID)
		require.True(t, ok)
		assert.Same(t, want, got)
		got, ok = s.GetPodByFullName(podmanager.FullName(want))
		require.True(t, ok)
		assert.Same(t, want, got)
		got, ok = s.GetPodByName("ns", want.Name)
		require.True(t, ok)
		assert.Same(t, want, got)
	}
	_, ok := s.GetPodByUID("m")
	assert.False(t, ok, "a mirror's UID finds no pod")
	assert.Equal(t, []*v1.Pod{p, st}, s.GetPods())

	_, ok = s.GetPodByName("other", "web")
	assert.False(t, ok)
	for _, name := range []string{"", "web", "web_", "_ns", "web_other"} {
		_, ok = s.GetPodByFullName(name)
		assert.False(t, ok, name)
	}
}

func TestStore_B152_MirrorAndPodPairInAnyOrder(t *testing.T) {
	st, m := staticPod("s", "web"), mirrorPod("m", "web")
	for name, s := range map[string]*podmanager.Store{
		"pod first":    storeOf(st, m),
		"mirror first": storeOf(m, st),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, podmanager.ResolvedPodUID("s"), s.TranslatePodUID("m"))
			assert.Equal(t, podmanager.ResolvedPodUID("s"), s.TranslatePodUID("s"))
			assert.Equal(t, podmanager.ResolvedPodUID("unknown"), s.TranslatePodUID("unknown"))
			assert.Equal(t, podmanager.ResolvedPodUID(""), s.TranslatePodUID(""))

			toMirror, toPod := s.GetUIDTranslations()
			assert.Equal(t, map[podmanager.ResolvedPodUID]podmanager.MirrorPodUID{"s": "m"}, toMirror)
			assert.Equal(t, map[podmanager.MirrorPodUID]podmanager.ResolvedPodUID{"m": "s"}, toPod)

			got, ok := s.GetPodByMirrorPod(m)
			require.True(t, ok)
			assert.Same(t, st, got)
			got, ok = s.GetMirrorPodByPod(st)
			require.True(t, ok)
			assert.Same(t, m, got)
			assert.Equal(t, map[*v1.Pod]*v1.Pod{st: m}, s.GetStaticPodToMirrorPodMap())
		})
	}
}

func TestStore_B153_ReplacedMirrorLeavesNothingBehind(t *testing.T) {
	st, m1, m2 := staticPod("s", "web"), mirrorPod("m1", "web"), mirrorPod("m2", "web")
	s := storeOf(st, m1, m2)

	assert.Equal(t, podmanager.ResolvedPodUID("m1"), s.TranslatePodUID("m1"))
	assert.Equal(t, podmanager.ResolvedPodUID("s"), s.TranslatePodUID("m2"))
	_, toPod := s.GetUIDTranslations()
	assert.Equal(t, map[podmanager.MirrorPodUID]podmanager.ResolvedPodUID{"m2": "s"}, toPod)
	_, mirrors, orphans := s.GetPodsAndMirrorPods()
	assert.Equal(t, []*v1.Pod{m2}, mirrors)
	assert.Empty(t, orphans)

	s.RemovePod(m1) // its removal arrives late
	got, ok := s.GetMirrorPodByPod(st)
	require.True(t, ok, "the new mirror stays")
	assert.Same(t, m2, got)
}

func TestStore_B154_RemovedMirrorTakesItsTranslationAlong(t *testing.T) {
	st, m := staticPod("s", "web"), mirrorPod("m", "web")
	s := storeOf(st, m)
	s.RemovePod(m)

	assert.Equal(t, podmanager.ResolvedPodUID("m"), s.TranslatePodUID("m"))
	_, ok := s.GetMirrorPodByPod(st)
	assert.False(t, ok)
	_, mirrors, orphans := s.GetPodsAndMirrorPods()
	assert.Empty(t, mirrors)
	assert.Empty(t, orphans)
	assert.Equal(t, []*v1.Pod{st}, s.GetPods(), "the pod stays")
}

func TestStore_B155_RemovedPodLeavesAnOrphan(t *testing.T) {
	st, m := staticPod("s", "web"), mirrorPod("m", "web")
	s := storeOf(st, m)
	s.RemovePod(st)

	pods, mirrors, orphans := s.GetPodsAndMirrorPods()
	assert.Empty(t, pods)
	assert.Equal(t, []*v1.Pod{m}, mirrors)
	assert.Equal(t, []string{"web_ns"}, orphans)
	_, ok := s.GetPodByFullName("web_ns")
	assert.False(t, ok)
}

func TestStore_B156_RemovedPodIsNotTranslatedTo(t *testing.T) {
	st, m := staticPod("s", "web"), mirrorPod("m", "web")
	s := storeOf(st, m)
	s.RemovePod(st)

	assert.Equal(t, podmanager.ResolvedPodUID("m"), s.TranslatePodUID("m"))
	toMirror, toPod := s.GetUIDTranslations()
	assert.Empty(t, toMirror)
	assert.Empty(t, toPod)

	s.AddPod(staticPod("s2", "web")) // the file was changed: another UID, the same mirror pod
	assert.Equal(t, podmanager.ResolvedPodUID("s2"), s.TranslatePodUID("m"))
}

func TestStore_B157_RemovalSparesTheNamesakeThatReplacedIt(t *testing.T) {
	for _, tc := range []struct{ removed, stays string }{{"old", "new"}, {"new", "old"}} {
		t.Run("removing the "+tc.removed, func(t *testing.T) {
			byUID := map[string]*v1.Pod{"old": staticPod("old", "web"), "new": staticPod("new", "web")}
			s := storeOf(mirrorPod("m", "web"), byUID["old"], byUID["new"])
			got, _ := s.GetPodByFullName("web_ns")
			assert.Same(t, byUID["new"], got, "the name is the newest arrival's")

			s.RemovePod(byUID[tc.removed])
			got, ok := s.GetPodByFullName("web_ns")
			require.True(t, ok)
			assert.Same(t, byUID[tc.stays], got)
			assert.Equal(t, podmanager.ResolvedPodUID(tc.stays), s.TranslatePodUID("m"))
			_, _, orphans := s.GetPodsAndMirrorPods()
			assert.Empty(t, orphans)
		})
	}
}

func TestStore_B157_TheMiddleOneOfThreeNamesakes(t *testing.T) {
	a, b, c := newPod("a", "web"), newPod("b", "web"), newPod("c", "web")
	s := storeOf(a, b, c)
	s.RemovePod(b)
	s.RemovePod(c)
	got, ok := s.GetPodByFullName("web_ns")
	require.True(t, ok)
	assert.Same(t, a, got)
	s.RemovePod(a)
	_, ok = s.GetPodByFullName("web_ns")
	assert.False(t, ok)
}

func TestStore_B158_StaticPodWithoutMirrorTranslatesToNothing(t *testing.T) {
	st := staticPod("s", "web")
	s := storeOf(st, newPod("p", "api-pod"))
	toMirror, toPod := s.GetUIDTranslations()
	assert.Equal(t, map[podmanager.ResolvedPodUID]podmanager.MirrorPodUID{"s": ""}, toMirror)
	assert.Empty(t, toPod)
	assert.Equal(t, map[*v1.Pod]*v1.Pod{st: nil}, s.GetStaticPodToMirrorPodMap())
}

func TestStore_B159_AnyPodOfTheNameHidesAnOrphan(t *testing.T) {
	s := storeOf(mirrorPod("m", "web"), newPod("p", "web"))
	_, _, orphans := s.GetPodsAndMirrorPods()
	assert.Empty(t, orphans)
}

func TestStore_B160_ListsAreInOrderOfArrival(t *testing.T) {
	names := []string{"c", "a", "d", "b", "e"}
	s := podmanager.New()
	for _, name := range names {
		s.AddPod(newPod("p"+name, name))
		s.AddPod(mirrorPod("m"+name, name+"-orphan"))
	}
	changed := newPod("pa", "a", "changed", "yes")
	s.UpdatePod(changed) // keeps its place
	s.RemovePod(newPod("pd", "d"))
	s.AddPod(newPod("pd", "d")) // is added at the end

	pods, mirrors, orphans := s.GetPodsAndMirrorPods()
	assert.Equal(t, []string{"c", "a", "b", "e", "d"}, namesOf(pods))
	assert.Same(t, changed, pods[1])
	assert.Equal(t, pods, s.GetPods())
	assert.Equal(t, []string{"c-orphan", "a-orphan", "d-orphan", "b-orphan", "e-orphan"}, namesOf(mirrors))
	assert.Equal(t, []string{"c-orphan_ns", "a-orphan_ns", "d-orphan_ns", "b-orphan_ns", "e-orphan_ns"}, orphans)
}

func TestSetPods_B160_ReplacesEverything(t *testing.T) {
	s := storeOf(staticPod("s", "web"), mirrorPod("m", "web"))
	s.SetPods([]*v1.Pod{newPod("p", "other"), nil})
	pods, mirrors, orphans := s.GetPodsAndMirrorPods()
	assert.Equal(t, []string{"other"}, namesOf(pods))
	assert.Empty(t, mirrors)
	assert.Empty(t, orphans)
	assert.Equal(t, podmanager.ResolvedPodUID("m"), s.TranslatePodUID("m"))
}

func TestGetPodAndMirrorPod_CompletesThePair(t *testing.T) {
	st, m := staticPod("s", "web"), mirrorPod("m", "web")
	s := storeOf(st, m)
	given, givenMirror := staticPod("s", "web"), mirrorPod("m", "web") // other copies
	for _, tc := range []struct {
		name          string
		arg           *v1.Pod
		pod, mirror   *v1.Pod
		wantWasMirror bool
	}{
		{"of a pod", given, given, m, false},
		{"of a mirror", givenMirror, st, givenMirror, true},
		{"of a pod without mirror", newPod("x", "x"), newPod("x", "x"), nil, false},
		{"of a mirror without pod", mirrorPod("y", "y"), nil, mirrorPod("y", "y"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gotPod, gotMirror, wasMirror := s.GetPodAndMirrorPod(tc.arg)
			assert.Equal(t, tc.pod, gotPod)
			assert.Equal(t, tc.mirror, gotMirror)
			assert.Equal(t, tc.wantWasMirror, wasMirror)
			if wasMirror {
				assert.Same(t, tc.arg, gotMirror, "the argument itself")
			} else {
				assert.Same(t, tc.arg, gotPod, "the argument itself")
			}
		})
	}
}

func TestUpdatePod_AnotherNameOrKindLeavesNothingBehind(t *testing.T) {
	s := storeOf(newPod("a", "old-name"))
	s.UpdatePod(newPod("a", "new-name"))
	_, ok := s.GetPodByFullName("old-name_ns")
	assert.False(t, ok)
	_, ok = s.GetPodByFullName("new-name_ns")
	assert.True(t, ok)
	assert.Len(t, s.GetPods(), 1)

	s.UpdatePod(mirrorPod("a", "new-name"))
	pods, mirrors, orphans := s.GetPodsAndMirrorPods()
	assert.Empty(t, pods)
	assert.Len(t, mirrors, 1)
	assert.Equal(t, []string{"new-name_ns"}, orphans)

	s.UpdatePod(newPod("a", "new-name"))
	pods, mirrors, _ = s.GetPodsAndMirrorPods()
	assert.Len(t, pods, 1)
	assert.Empty(t, mirrors)
}

func TestStore_NilAndUnknownPodsAreNoFault(t *testing.T) {
	s := storeOf(staticPod("s", "web"))
	s.AddPod(nil)
	s.UpdatePod(nil)
	s.RemovePod(nil)
	s.RemovePod(newPod("unknown", "web")) // the name of another pod, the UID of none
	assert.Len(t, s.GetPods(), 1)
	_, ok := s.GetPodByName("ns", "web")
	assert.True(t, ok)

	_, ok = s.GetPodByMirrorPod(nil)
	assert.False(t, ok)
	_, ok = s.GetMirrorPodByPod(nil)
	assert.False(t, ok)
	p, m, wasMirror := s.GetPodAndMirrorPod(nil)
	assert.Nil(t, p)
	assert.Nil(t, m)
	assert.False(t, wasMirror)
}

// Under -race: readers see each pair completely or not at all.
func TestStore_ConcurrentUse(t *testing.T) {
	s := podmanager.New()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			name := fmt.Sprint("web", w)
			st, m := staticPod("s"+name, name), mirrorPod("m"+name, name)
			for range 200 {
				s.AddPod(st)
				s.AddPod(m)
				s.RemovePod(st)
				s.RemovePod(m)
			}
		})
		wg.Go(func() {
			for range 200 {
				pods, mirrors, orphans := s.GetPodsAndMirrorPods()
				assert.LessOrEqual(t, len(orphans), len(mirrors))
				assert.LessOrEqual(t, len(pods), 4)
				toMirror, toPod := s.GetUIDTranslations()
				for m, p := range toPod {
					assert.Equal(t, m, toMirror[p])
				}
				s.TranslatePodUID("mweb0")
				s.GetPods()
				s.GetStaticPodToMirrorPodMap()
			}
		})
	}
	wg.Wait()
	assert.Empty(t, s.GetPods())
}

func BenchmarkGetPods(b *testing.B) {
	s := podmanager.New()
	for i := range 1000 {
		s.AddPod(newPod(fmt.Sprint("uid", i), fmt.Sprint("name", i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		s.GetPods()
	}
}

func BenchmarkTranslatePodUID(b *testing.B) {
	s := storeOf(staticPod("s", "web"), mirrorPod("m", "web"))
	b.ReportAllocs()
	for b.Loop() {
		s.TranslatePodUID("m")
	}
}

func namesOf(pods []*v1.Pod) []string {
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = p.Name
	}
	return names
}
