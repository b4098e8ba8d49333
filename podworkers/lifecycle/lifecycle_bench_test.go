package lifecycle_test

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

func makeUIDs(n int) []types.UID {
	list := make([]types.UID, n)
	for i := range list {
		list[i] = types.UID(fmt.Sprintf("%08x-7b3d-4a1c-9f00-%012d", int64(i)*2654435761, i))
	}
	return list
}

func plainUpdate(uid types.UID) lifecycle.Update {
	return lifecycle.Update{
		UID: uid, Type: lifecycle.SyncPodUpdate, Subject: lifecycle.ConfigPod,
		Facts: lifecycle.Facts{FullName: "web_default", Source: "api", SpecGrace: lifecycle.Seconds(30)},
	}
}

// BenchmarkUpdateBusy is the most frequent call: an update of a pod whose sync is running, with 10k
// pods.
func BenchmarkUpdateBusy(b *testing.B) {
	table, list := lifecycle.New(), makeUIDs(10_000)
	var out lifecycle.Effects
	for _, uid := range list {
		a, _ := table.Update(plainUpdate(uid), &out)
		table.StartPodSync(a.Ref)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		out = out[:0]
		_, _ = table.Update(plainUpdate(list[i]), &out)
		if i++; i == len(list) {
			i = 0
		}
	}
}

// BenchmarkCycle is one cycle of an idle pod: update, take the work, done.
func BenchmarkCycle(b *testing.B) {
	table, list := lifecycle.New(), makeUIDs(10_000)
	var out lifecycle.Effects
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		out = out[:0]
		a, _ := table.Update(plainUpdate(list[i]), &out)
		w, _ := table.StartPodSync(a.Ref)
		table.Done(w.Ref, w.Incarnation, lifecycle.Succeeded, &out)
		if i++; i == len(list) {
			i = 0
		}
	}
}

// BenchmarkLife is a whole lifecycle: create, sync, kill with a ticket, terminate, clean up, and
// again under the same UID, beside 10k other pods.
func BenchmarkLife(b *testing.B) {
	table, list := lifecycle.New(), makeUIDs(10_001)
	var out lifecycle.Effects
	for _, uid := range list[1:] {
		_, _ = table.Update(plainUpdate(uid), &out)
	}
	b.ReportAllocs()
	for b.Loop() {
		out = out[:0]
		create := plainUpdate(list[0])
		create.Type = lifecycle.SyncPodCreate
		a, _ := table.Update(create, &out)
		step := func() {
			w, _ := table.StartPodSync(a.Ref)
			table.Done(w.Ref, w.Incarnation, lifecycle.Succeeded, &out)
		}
		step()
		_, _ = table.Kill(plainUpdate(list[0]), &out)
		step()
		step()
	}
}

// BenchmarkSyncKnown is one housekeeping over 10k desired pods.
func BenchmarkSyncKnown(b *testing.B) {
	table, list := lifecycle.New(), makeUIDs(10_000)
	var out lifecycle.Effects
	for _, uid := range list {
		_, _ = table.Update(plainUpdate(uid), &out)
	}
	known := lifecycle.DesiredSnapshot{Desired: list, Generation: table.Generation(), AllSources: true}
	var states []lifecycle.PodState
	b.ReportAllocs()
	for b.Loop() {
		states = table.SyncKnown(known, states[:0], &out)
	}
}

// BenchmarkIdlePod reports the memory of one idle pod with 100k pods: record and index. The UID's
// bytes belong to the caller.
func BenchmarkIdlePod(b *testing.B) {
	const n = 100_000
	list := makeUIDs(n)
	out := make(lifecycle.Effects, 0, 8)
	for b.Loop() {
		before := readHeap()
		table := lifecycle.New()
		for _, uid := range list {
			out = out[:0]
			a, _ := table.Update(plainUpdate(uid), &out)
			w, _ := table.StartPodSync(a.Ref)
			table.Done(w.Ref, w.Incarnation, lifecycle.Succeeded, &out)
		}
		b.ReportMetric(float64(readHeap()-before)/n, "B/pod")
		runtime.KeepAlive(table)
	}
}

func readHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
