package sourcetest

import "github.com/podkeel/podkeel/podmanager/source"

// brokenCases check input that cannot be read.
var brokenCases = []Case{
	{"broken/kept", "A pod that cannot be read is not left out of a complete snapshot: its last good version stays, or the snapshot is incomplete, or there is no snapshot.", checkBrokenKept},
	{"broken/start", "A source that cannot read its input at the start delivers no complete empty snapshot.", checkBrokenAtStart},
	{"broken/again", "A source recovers by itself when its input becomes readable again.", checkRecovery},
}

// breakInput makes the input unreadable, or skips the case.
func (b *testCase) breakInput() {
	b.Helper()
	if b.h.Break == nil {
		b.Skipf("%s: the harness has no Break", b.Name)
	}
	b.Must(b.h.Break(), "the harness")
}

// lacksPodA reports whether a snapshot is complete and lacks the pod a.
func lacksPodA(s source.Snapshot) bool { return !s.Incomplete && findPod(s, "a") == nil }

// checkPodAKept fails the case if a complete snapshot after the first n lacks the pod a.
func (b *testCase) checkPodAKept(n int) {
	b.Helper()
	b.waitPause()
	snapshots, _ := b.sink.recorded()
	for i, s := range snapshots[n:] {
		if lacksPodA(s) {
			b.Failf("a complete snapshot lacks a pod that could not be read: %s", describeSnapshots(snapshots[n+i:n+i+1]))
		}
	}
}

func checkBrokenKept(b *testCase) {
	b.setPods(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	b.breakInput()
	b.checkPodAKept(n)
}

func checkBrokenAtStart(b *testCase) {
	b.setPods(newPod("a", "one"))
	b.breakInput()
	b.startRun()
	b.checkPodAKept(0)
}

func checkRecovery(b *testCase) {
	b.setPods(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	b.breakInput()
	b.waitPause()
	b.setPods(newPod("a", "two"))
	b.waitForSnapshot(n, "of what can be read again", hasExactlyPods("a=two"))
}
