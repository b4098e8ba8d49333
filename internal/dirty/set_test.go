package dirty_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/dirty"
)

func ExampleNew() {
	woken := 0
	set := dirty.New(func(old, new int) int { return old | new }, func() { woken++ })

	set.Add("b", 1)
	set.Add("a", 1)
	set.Add("b", 4) // merged; b keeps its place, without another wake-up

	fmt.Println(set.TakeAll(nil), woken)
	// Output: [{b 5} {a 1}] 1
}

func TestTakeAll_ReturnsEverythingOnceInOrderOfFirstAdd(t *testing.T) {
	set := dirty.New[int](nil, nil)
	for i, uid := range []types.UID{"c", "a", "b", "a", "c"} {
		set.Add(uid, i)
	}
	require.Equal(t, 3, set.Len())

	want := []dirty.Entry[int]{{"c", 4}, {"a", 3}, {"b", 2}}
	assert.Equal(t, want, set.TakeAll(nil))
	assert.Empty(t, set.TakeAll(nil))
	assert.Zero(t, set.Len())
}

func TestAdd_MergesOldWithNewInThatOrder(t *testing.T) {
	set := dirty.New(func(old, new string) string { return old + new }, nil)
	set.Add("a", "1")
	set.Add("a", "2")
	set.Add("a", "3")
	assert.Equal(t, []dirty.Entry[string]{{"a", "123"}}, set.TakeAll(nil))

	set.Add("a", "4") // a taken value is not merged into a later one
	assert.Equal(t, []dirty.Entry[string]{{"a", "4"}}, set.TakeAll(nil))
}

func TestAdd_WakesExactlyWhenTheSetTurnsNonEmpty(t *testing.T) {
	woken := 0
	set := dirty.New[int](nil, func() { woken++ })
	set.Add("a", 0)
	assert.Equal(t, 1, woken, "empty to non-empty")
	set.Add("a", 0)
	set.Add("b", 0)
	assert.Equal(t, 1, woken, "already non-empty")
	set.TakeAll(nil)
	assert.Equal(t, 1, woken, "taking wakes nobody")
	set.Add("b", 0)
	assert.Equal(t, 2, woken, "non-empty again after a Take")
	set.Remove("b")
	set.Add("a", 0)
	assert.Equal(t, 3, woken, "non-empty again after the last Drop")
}

func TestAdd_WakesWithoutTheLock(t *testing.T) {
	var set *dirty.Set[int]
	var got []dirty.Entry[int]
	set = dirty.New[int](nil, func() { got = set.TakeAll(nil) })
	set.Add("a", 7) // would never return if wake ran under the lock
	assert.Equal(t, []dirty.Entry[int]{{"a", 7}}, got)
	assert.Zero(t, set.Len())
}

func TestRemove_LeavesTheOthersInOrder(t *testing.T) {
	set := dirty.New[int](nil, nil)
	for i, uid := range []types.UID{"a", "b", "c", "d"} {
		set.Add(uid, i)
	}
	set.Remove("b")
	set.Remove("b")
	set.Remove("never there")
	set.Add("b", 9) // comes back at its new place
	assert.Equal(t, []dirty.Entry[int]{{"a", 0}, {"c", 2}, {"d", 3}, {"b", 9}}, set.TakeAll(nil))
}

func TestTakeAll_AppendsToTheCallersBuffer(t *testing.T) {
	set := dirty.New[int](nil, nil)
	buf := append(make([]dirty.Entry[int], 0, 8), dirty.Entry[int]{"z", 26})
	set.Add("a", 1)
	got := set.TakeAll(buf)
	require.Equal(t, []dirty.Entry[int]{{"z", 26}, {"a", 1}}, got)
	assert.Same(t, &buf[0], &got[0])

	set.Add("b", 2)
	assert.Equal(t, []dirty.Entry[int]{{"z", 26}, {"a", 1}}, got, "a result belongs to the caller until it is given back")
}

func TestSet_SteadyStateAllocatesNothing(t *testing.T) {
	set := dirty.New(func(old, new int) int { return old + new }, func() {})
	uids := make([]types.UID, 100)
	for i := range uids {
		uids[i] = types.UID(fmt.Sprint("pod-", i))
	}
	var buf []dirty.Entry[int]
	round := func() {
		for _, uid := range uids {
			set.Add(uid, 1)
			set.Add(uid, 1)
		}
		set.Remove(uids[3])
		buf = set.TakeAll(buf[:0])
	}
	for range 3 {
		round()
	}
	assert.Zero(t, testing.AllocsPerRun(100, round))
}

// The memory of a burst is released when few pods are taken again.
func TestSet_ReleasesMemoryAfterABurst(t *testing.T) {
	size := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	set := dirty.New[int](nil, nil)
	before := size()
	for i := range 100_000 {
		set.Add(types.UID(fmt.Sprint(i)), 1)
	}
	set.TakeAll(nil)
	set.Add("a", 1)
	set.TakeAll(nil)
	assert.Less(t, size(), before+64<<10)
	runtime.KeepAlive(set)
}

// The set against the obvious slow model, including its memory: a set that is
// added to and dropped from without a TakeAll must not grow.
func TestSet_IsAnOrderedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := dirty.New(func(old, new []int) []int { return append(old, new...) }, nil)
		var model []dirty.Entry[[]int]
		find := func(uid types.UID) int {
			for i, e := range model {
				if e.UID == uid {
					return i
				}
			}
			return -1
		}
		uids := rapid.SampledFrom([]types.UID{"", "a", "b", "c", "d", "e", "f", "g", "h", "i"})
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				uid := uids.Draw(t, "uid")
				next++
				set.Add(uid, []int{next})
				if i := find(uid); i >= 0 {
					model[i].Value = append(model[i].Value, next)
				} else {
					model = append(model, dirty.Entry[[]int]{UID: uid, Value: []int{next}})
				}
			},
			"drop": func(t *rapid.T) {
				uid := uids.Draw(t, "uid")
				set.Remove(uid)
				if i := find(uid); i >= 0 {
					model = append(model[:i:i], model[i+1:]...)
				}
			},
			"take": func(t *rapid.T) {
				assert.Equal(t, append([]dirty.Entry[[]int]{}, model...), set.TakeAll([]dirty.Entry[[]int]{}))
				model = nil
			},
			"": func(t *rapid.T) {
				if set.Len() != len(model) {
					t.Fatalf("Len %d, want %d", set.Len(), len(model))
				}
			},
		})
	})
}

func TestSet_ManyProducersLoseNothing(t *testing.T) {
	const producers, each = 8, 500
	wake := make(chan struct{}, 1)
	set := dirty.New(func(old, new int) int { return old + new }, func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				set.Add(types.UID(fmt.Sprint((p+i)%17)), 1)
			}
		})
	}
	sum := 0
	var buf []dirty.Entry[int]
	for sum < producers*each {
		<-wake // a lost wake-up ends the test by deadlock
		buf = set.TakeAll(buf[:0])
		for _, e := range buf {
			sum += e.Value
		}
	}
	wg.Wait()
	assert.Equal(t, producers*each, sum)
}

func BenchmarkAddTake(b *testing.B) {
	set := dirty.New(func(old, new int) int { return old | new }, nil)
	uids := make([]types.UID, 1000)
	for i := range uids {
		uids[i] = types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i))
	}
	var buf []dirty.Entry[int]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		set.Add(uids[i%len(uids)], 1)
		if i%len(uids) == len(uids)-1 {
			buf = set.TakeAll(buf[:0])
		}
	}
}

// TestMuseum_K136408_EventsCannotOverflow: events of pods went through a channel of 1000. When more came
// than its reader took, the rest was dropped, although the listing had passed them by, and those
// pods were not looked at again. A set cannot overflow, whatever its reader does.
func TestMuseum_K136408_EventsCannotOverflow(t *testing.T) {
	const pods = 100_000
	s := dirty.New[int](nil, nil)
	for round := range 2 { // Each pod twice, without a reader.
		for i := range pods {
			s.Add(types.UID(fmt.Sprint(i)), round)
		}
	}
	taken := s.TakeAll(nil)
	require.Len(t, taken, pods)
	for i, e := range taken {
		require.Equal(t, dirty.Entry[int]{UID: types.UID(fmt.Sprint(i)), Value: 1}, e)
	}
}
