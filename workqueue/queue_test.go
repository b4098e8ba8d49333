package workqueue_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/workqueue"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newQueue() (*workqueue.Queue, *testclock.FakePassiveClock) {
	clk := testclock.NewFakePassiveClock(start)
	return workqueue.New(workqueue.Config{Clock: clk}), clk
}

func TestGetWork_B146_DueOnceAndTheRestStays(t *testing.T) {
	q, clk := newQueue()
	q.Enqueue("later", 2*time.Second)
	q.Enqueue("past", -time.Second)
	q.Enqueue("now", 0)
	q.Enqueue("soon", time.Second)

	assert.Equal(t, []types.UID{"past", "now"}, q.GetWork(clk.Now(), nil))
	assert.Nil(t, q.GetWork(clk.Now(), nil), "each entry once")
	clk.SetTime(start.Add(time.Minute))
	assert.Equal(t, []types.UID{"soon", "later"}, q.GetWork(clk.Now(), nil), "in order of due time")
	assert.Zero(t, q.Len())
}

func TestDue(t *testing.T) {
	q, clk := newQueue()
	q.Enqueue("a", time.Minute)
	q.Enqueue("b", time.Second)
	clk.SetTime(start.Add(time.Hour))
	due, ok := q.Due("a")
	assert.True(t, ok)
	assert.Equal(t, start.Add(time.Minute), due, "though it is past")
	q.GetWork(clk.Now(), nil)
	_, ok = q.Due("a")
	assert.False(t, ok, "it was handed out")
}

func TestGetWork_B147_DueMeansNotAfterNow(t *testing.T) {
	q, clk := newQueue()
	q.Enqueue("a", time.Second)
	clk.SetTime(start.Add(time.Second - 1))
	assert.Nil(t, q.GetWork(clk.Now(), nil), "a nanosecond early")
	clk.SetTime(start.Add(time.Second))
	assert.Equal(t, []types.UID{"a"}, q.GetWork(clk.Now(), nil), "exactly now")
}

func TestEnqueue_B148_OverwritesEarlierAndLater(t *testing.T) {
	q, clk := newQueue()
	q.Enqueue("earlier", time.Minute)
	q.Enqueue("earlier", time.Second)
	q.Enqueue("later", time.Second)
	q.Enqueue("later", time.Minute)
	require.Equal(t, 2, q.Len())

	clk.SetTime(start.Add(time.Second))
	assert.Equal(t, []types.UID{"earlier"}, q.GetWork(clk.Now(), nil))
	clk.SetTime(start.Add(time.Minute))
	assert.Equal(t, []types.UID{"later"}, q.GetWork(clk.Now(), nil))
}

func TestGetWork_EqualTimesInOrderOfEnqueueing(t *testing.T) {
	q, clk := newQueue()
	for _, uid := range []types.UID{"c", "a", "d", "b", "a"} {
		q.Enqueue(uid, 0)
	}
	assert.Equal(t, []types.UID{"c", "d", "b", "a"}, q.GetWork(clk.Now(), nil), "a was put last")
}

func TestRemove_B150_LeavesNothingBehind(t *testing.T) {
	q, clk := newQueue()
	for i := range 10 {
		q.Enqueue(types.UID(fmt.Sprint(i)), time.Duration(i)*time.Second)
	}
	q.Remove("0")
	q.Remove("4")
	q.Remove("4")
	q.Remove("never")
	next, ok := q.Next()
	require.True(t, ok)
	assert.Equal(t, start.Add(time.Second), next)

	clk.SetTime(start.Add(time.Hour))
	assert.Equal(t, []types.UID{"1", "2", "3", "5", "6", "7", "8", "9"}, q.GetWork(clk.Now(), nil))
}

func TestNext(t *testing.T) {
	q, clk := newQueue()
	_, ok := q.Next()
	assert.False(t, ok, "empty")

	q.EnqueueAt("a", start.Add(-time.Hour))
	next, ok := q.Next()
	require.True(t, ok)
	assert.Equal(t, start.Add(-time.Hour), next, "may lie in the past")
	assert.Equal(t, []types.UID{"a"}, q.GetWork(clk.Now(), nil))
	_, ok = q.Next()
	assert.False(t, ok)
}

func TestEnqueue_TimesOutOfReachAreNeverAndAtOnce(t *testing.T) {
	q, clk := newQueue()
	clk.SetTime(start.Add(time.Hour))
	q.Enqueue("never", math.MaxInt64)
	q.Enqueue("at once", math.MinInt64)
	q.EnqueueAt("zero time", time.Time{})
	assert.Equal(t, []types.UID{"zero time", "at once"}, q.GetWork(clk.Now(), nil))
	assert.Nil(t, q.GetWork(clk.Now(), nil), "a sum that is too large does not come round to the past")
}

func TestNotify_WhenTheEarliestBecameEarlier(t *testing.T) {
	clk := testclock.NewFakePassiveClock(start)
	notified := 0
	q := workqueue.New(workqueue.Config{Clock: clk, Notify: func() { notified++ }})
	step := func(want int, why string, f func()) {
		t.Helper()
		before := notified
		f()
		assert.Equal(t, want, notified-before, why)
	}
	step(1, "first entry", func() { q.Enqueue("a", time.Minute) })
	step(0, "later than the first", func() { q.Enqueue("b", 2*time.Minute) })
	step(0, "as early as the first", func() { q.Enqueue("c", time.Minute) })
	step(1, "earlier than the first", func() { q.Enqueue("b", time.Second) })
	step(0, "the first becomes later", func() { q.Enqueue("b", time.Hour) })
	step(0, "removed", func() { q.Remove("a") })
	step(0, "taken", func() { clk.SetTime(start.Add(2 * time.Hour)); q.GetWork(clk.Now(), nil) })
	step(1, "empty again, then one", func() { q.Enqueue("a", time.Hour) })
}

func TestNotify_WithoutTheLock(t *testing.T) {
	var q *workqueue.Queue
	var next time.Time
	q = workqueue.New(workqueue.Config{
		Clock:  testclock.NewFakePassiveClock(start),
		Notify: func() { next, _ = q.Next() }, // would never return under the lock
	})
	q.Enqueue("a", time.Second)
	assert.Equal(t, start.Add(time.Second), next)
}

// Setting the wall clock must not move entries. Only a reading with a monotonic part can show it,
// so this test uses the real clock.
func TestQueue_I48_MonotonicWithTheRealClock(t *testing.T) {
	q := workqueue.New(workqueue.Config{})
	q.Enqueue("a", time.Hour)
	next, ok := q.Next()
	require.True(t, ok)
	assert.Contains(t, next.String(), "m=", "the due time kept its monotonic reading")
}

func TestQueue_IsAMapOfDueTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			due time.Time
			seq int
		}
		notified, seq := 0, 0
		clk := testclock.NewFakePassiveClock(start)
		q := workqueue.New(workqueue.Config{Clock: clk, Notify: func() { notified++ }})
		model := map[types.UID]entry{}
		earliest := func() (time.Time, bool) {
			var first time.Time
			found := false
			for _, e := range model {
				if !found || e.due.Before(first) {
					first, found = e.due, true
				}
			}
			return first, found
		}
		uids := rapid.SampledFrom([]types.UID{"", "a", "b", "c", "d", "e", "f", "g"})
		delays := rapid.Int64Range(-3, 10)
		put := func(t *rapid.T, f func(uid types.UID, d time.Duration)) {
			uid, d := uids.Draw(t, "uid"), time.Duration(delays.Draw(t, "delay"))
			before, had := earliest()
			n := notified
			f(uid, d)
			seq++
			due := clk.Now().Add(d)
			model[uid] = entry{due, seq}
			assert.Equal(t, !had || due.Before(before), notified > n, "notified")
		}
		t.Repeat(map[string]func(*rapid.T){
			"enqueue":   func(t *rapid.T) { put(t, q.Enqueue) },
			"enqueueAt": func(t *rapid.T) { put(t, func(u types.UID, d time.Duration) { q.EnqueueAt(u, clk.Now().Add(d)) }) },
			"remove": func(t *rapid.T) {
				uid := uids.Draw(t, "uid")
				q.Remove(uid)
				delete(model, uid)
			},
			"pass": func(t *rapid.T) {
				clk.SetTime(clk.Now().Add(time.Duration(rapid.Int64Range(-2, 5).Draw(t, "time"))))
			},
			"get": func(t *rapid.T) {
				var want []types.UID
				for uid, e := range model {
					if !e.due.After(clk.Now()) {
						want = append(want, uid)
					}
				}
				sort.Slice(want, func(i, j int) bool {
					a, b := model[want[i]], model[want[j]]
					return a.due.Before(b.due) || a.due.Equal(b.due) && a.seq < b.seq
				})
				for _, uid := range want {
					delete(model, uid)
				}
				assert.Equal(t, want, q.GetWork(clk.Now(), nil))
			},
			"": func(t *rapid.T) {
				next, ok := q.Next()
				wantNext, wantOK := earliest()
				assert.Equal(t, wantOK, ok)
				assert.True(t, wantNext.Equal(next))
				assert.Equal(t, len(model), q.Len())
			},
		})
	})
}

// One consumer that keeps the contract, woken by Notify and by one timer for Next, and many
// producers. A lost wake-up would leave it waiting for the entry that is due in an hour.
func TestQueue_ConcurrentUseLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const producers, each = 8, 300
		began := time.Now()
		woken := executor.Over(nil).NewEvent()
		q := workqueue.New(workqueue.Config{Notify: woken.Signal})
		q.Enqueue("far away", time.Hour)
		for p := range producers {
			go func() {
				for i := range each {
					q.Enqueue(types.UID(fmt.Sprint(p, "-", i)), 0)
					q.Enqueue("shared", time.Hour)
					q.Remove("shared")
				}
			}()
		}
		got := map[types.UID]int{}
		for len(got) < producers*each {
			next, ok := q.Next()
			require.True(t, ok)
			_, err := woken.WaitUntil(t.Context(), next)
			require.NoError(t, err)
			for _, uid := range q.GetWork(time.Now(), nil) {
				got[uid]++
			}
		}
		for uid, n := range got {
			assert.Equal(t, 1, n, uid)
		}
		assert.Less(t, time.Since(began), time.Hour)
	})
}

func TestQueue_SteadyStateAllocatesNothing(t *testing.T) {
	q, clk := newQueue()
	uids := manyUIDs(1000)
	buf := make([]types.UID, 0, len(uids))
	round := func() {
		for i, uid := range uids {
			q.Enqueue(uid, time.Duration(i)*time.Millisecond)
		}
		q.Remove(uids[17])
		clk.SetTime(clk.Now().Add(time.Second))
		buf = q.GetWork(clk.Now(), buf[:0])
	}
	for range 3 {
		round()
	}
	assert.Zero(t, testing.AllocsPerRun(20, round))
	assert.Len(t, buf, len(uids)-1)
}

func manyUIDs(n int) []types.UID {
	uids := make([]types.UID, n)
	for i := range uids {
		uids[i] = types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i))
	}
	return uids
}

var sizes = []int{110, 2500, 100_000, 1_000_000}

// The most frequent call: one per wake-up, mostly with no due entry. It includes a reading of the
// real clock.
func BenchmarkNothingDue(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			q := workqueue.New(workqueue.Config{})
			for i, uid := range manyUIDs(n) {
				q.Enqueue(uid, time.Hour+time.Duration(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				if work := q.GetWork(time.Now(), nil); work != nil {
					b.Fatal(work)
				}
			}
		})
	}
}

// An entry is moved to a random time, as after each sync.
func BenchmarkEnqueue(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			q := workqueue.New(workqueue.Config{})
			uids := manyUIDs(n)
			for _, uid := range uids {
				q.Enqueue(uid, time.Minute)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q.Enqueue(uids[i%n], time.Minute+time.Duration(rnd.Int64N(int64(30*time.Second))))
			}
		})
	}
}

// The memory of an entry: slot, order and index, without the bytes of the UID, which belong to the
// pod.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000
	uids := manyUIDs(n)
	var perEntry float64
	for b.Loop() {
		perEntry = bytesPerEntry(uids)
	}
	b.ReportMetric(perEntry, "B/entry")
}

func bytesPerEntry(uids []types.UID) float64 {
	before := heapInUse()
	q := workqueue.New(workqueue.Config{})
	for _, uid := range uids {
		q.Enqueue(uid, time.Hour)
	}
	after := heapInUse()
	runtime.KeepAlive(q)
	return float64(after-before) / float64(len(uids))
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestQueue_I23_MemoryPerEntry(t *testing.T) {
	uids := manyUIDs(100_000)
	best := slices.Min([]float64{bytesPerEntry(uids), bytesPerEntry(uids), bytesPerEntry(uids)})
	assert.LessOrEqual(t, best, 95.0, "bytes per entry")
}
