package sourcetest

import "github.com/podkeel/podkeel/podmanager/source"

// brokenCases are about input that cannot be read.
var brokenCases = []Case{
	{"broken/kept", "What cannot be read is not left out: its last good version stays, or the snapshot is incomplete, or there is none.", brokenKept},
	{"broken/start", "A source that could not read its input from the start does not say that it has no pods.", brokenStart},
	{"broken/again", "A source recovers by itself when its input can be read again.", brokenAgain},
}

// broken makes the input unreadable.
func (b *bench) broken() {
	b.Helper()
	if b.h.Break == nil {
		b.Skipf("%s: the harness has no Break", b.Name)
	}
	b.Must(b.h.Break(), "the harness")
}

// concludes is true of a snapshot that says that the pod a is not there.
func concludes(s source.Snapshot) bool { return !s.Incomplete && find(s, "a") == nil }

// concludesNothing wants no such snapshot after the first n.
func (b *bench) concludesNothing(n int) {
	b.Helper()
	b.pause()
	snapshots, _ := b.sink.all()
	for i, s := range snapshots[n:] {
		if concludes(s) {
			b.Failf("a complete snapshot lacks a pod that could not be read: %s", describe(snapshots[n+i:n+i+1]))
		}
	}
}

func brokenKept(b *bench) {
	b.set(pod("a", "one"))
	b.start()
	n := b.until(0, "with the pod a", exactly("a=one"))
	b.broken()
	b.concludesNothing(n)
}

func brokenStart(b *bench) {
	b.set(pod("a", "one"))
	b.broken()
	b.start()
	b.concludesNothing(0)
}

func brokenAgain(b *bench) {
	b.set(pod("a", "one"))
	b.start()
	n := b.until(0, "with the pod a", exactly("a=one"))
	b.broken()
	b.pause()
	b.set(pod("a", "two"))
	b.until(n, "of what can be read again", exactly("a=two"))
}
