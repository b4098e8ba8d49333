package sourcetest

import "github.com/podkeel/podkeel/podmanager/source"

// brokenCases check input that cannot be read.
var brokenCases = []Case{
	{"broken/kept", "A pod that cannot be read is not left out of a complete snapshot: its last good version stays, or the snapshot is incomplete, or there is no snapshot.", checkBrokenKept},
	{"broken/start", "A source that cannot read its input at the start delivers no complete empty snapshot.", checkBrokenAtStart},
	{"broken/again", "A source recovers by itself when its input becomes readable again.", checkRecovery},
}

// breakInputOrSkip makes the input of the source unreadable. It skips the case if the harness cannot do so.
func (b *testCase) breakInputOrSkip() {
	b.Helper()
	if b.h.Break == nil {
		b.Skipf("%s: the harness has no Break", b.Name)
	}
	b.Must(b.h.Break(), "the harness")
}

// isCompleteWithoutPodA reports whether a snapshot is complete and has no pod with the UID a.
func isCompleteWithoutPodA(s source.Snapshot) bool { return !s.Incomplete && findPod(s, "a") == nil }

// waitAndCheckPodAKept waits for Harness.Pause, and fails the case if a complete snapshot after the first n has
// no pod with the UID a.
func (b *testCase) waitAndCheckPodAKept(n int) {
	b.Helper()
	b.waitPause()
	snapshots, _ := b.sink.recorded()
	for i, s := range snapshots[n:] {
		if isCompleteWithoutPodA(s) {
			b.Failf("a complete snapshot lacks a pod that could not be read: %s", describeSnapshots(snapshots[n+i:n+i+1]))
		}
	}
}

func checkBrokenKept(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	b.breakInputOrSkip()
	b.waitAndCheckPodAKept(n)
}

func checkBrokenAtStart(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.breakInputOrSkip()
	b.startRun()
	b.waitAndCheckPodAKept(0)
}

func checkRecovery(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	b.breakInputOrSkip()
	b.waitPause()
	b.setPodsOfSource(newPod("a", "two"))
	b.waitForSnapshot(n, "of what can be read again", hasExactlyPods("a=two"))
}
