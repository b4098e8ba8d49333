package sourcetest

import "github.com/podkeel/podkeel/podmanager/source"

// changeCases are about what follows a change.
var changeCases = []Case{
	{"change/added", "A snapshot after a pod was added has all pods.", changeAdded},
	{"change/changed", "A snapshot after a pod was changed has it as it is now, as a new object.", changeChanged},
	{"change/removed", "A snapshot after a pod was removed has the others only.", changeRemoved},
	{"change/last", "A complete, empty snapshot follows when the last pod was removed.", changeLast},
	{"change/unmodified", "A pod that was handed over is not modified any more.", changeUnmodified},
}

func changeAdded(b *bench) {
	b.set(pod("a", "one"))
	b.start()
	n := b.until(0, "with the pod a", exactly("a=one"))
	b.set(pod("a", "one"), pod("b", "one"))
	b.until(n, "with the pods a and b", exactly("a=one", "b=one"))
}

func changeChanged(b *bench) {
	b.set(pod("a", "one"))
	b.start()
	n := b.until(0, "with the pod a", exactly("a=one"))
	snapshots, _ := b.sink.all()
	before := find(snapshots[n-1], "a")
	b.set(pod("a", "two"))
	b.until(n, "with the pod a, changed", func(s source.Snapshot) bool {
		return exactly("a=two")(s) && find(s, "a") != before
	})
}

func changeRemoved(b *bench) {
	b.set(pod("a", "one"), pod("b", "one"))
	b.start()
	n := b.until(0, "with the pods a and b", exactly("a=one", "b=one"))
	b.set(pod("b", "one"))
	b.until(n, "with the pod b alone", exactly("b=one"))
}

func changeLast(b *bench) {
	b.set(pod("a", "one"))
	b.start()
	n := b.until(0, "with the pod a", exactly("a=one"))
	b.set()
	b.until(n, "without pods", exactly())
}

// changeUnmodified leaves the check to the end of every case.
func changeUnmodified(b *bench) {
	b.set(pod("a", "one"), pod("b", "one"))
	b.start()
	n := b.until(0, "with the pods a and b", exactly("a=one", "b=one"))
	b.set(pod("a", "two"), pod("b", "one"))
	n = b.until(n, "with the change", exactly("a=two", "b=one"))
	b.set()
	b.until(n, "without pods", exactly())
}
