package sourcetest

import "github.com/podkeel/podkeel/podmanager/source"

// changeCases check the snapshots after a change.
var changeCases = []Case{
	{"change/added", "A snapshot after a pod was added has all pods.", checkAdded},
	{"change/changed", "A snapshot after a pod was changed has its new version, as a new object.", checkChanged},
	{"change/removed", "A snapshot after a pod was removed has only the other pods.", checkRemoved},
	{"change/last", "A complete, empty snapshot is delivered after the last pod was removed.", checkLastRemoved},
	{"change/unmodified", "A delivered pod is not modified afterwards.", changeAndRemovePods},
}

func checkAdded(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	b.setPodsOfSource(newPod("a", "one"), newPod("b", "one"))
	b.waitForSnapshot(n, "with the pods a and b", hasExactlyPods("a=one", "b=one"))
}

func checkChanged(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	snapshots, _ := b.sink.recorded()
	before := findPod(snapshots[n-1], "a")
	b.setPodsOfSource(newPod("a", "two"))
	b.waitForSnapshot(n, "with the pod a, changed", func(s source.Snapshot) bool {
		return hasExactlyPods("a=two")(s) && findPod(s, "a") != before
	})
}

func checkRemoved(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"), newPod("b", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pods a and b", hasExactlyPods("a=one", "b=one"))
	b.setPodsOfSource(newPod("b", "one"))
	b.waitForSnapshot(n, "with the pod b alone", hasExactlyPods("b=one"))
}

func checkLastRemoved(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	b.setPodsOfSource()
	b.waitForSnapshot(n, "without pods", hasExactlyPods())
}

// changeAndRemovePods changes and removes pods of the source. As after every case, the suite then checks that the
// source has modified no delivered pod.
func changeAndRemovePods(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"), newPod("b", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pods a and b", hasExactlyPods("a=one", "b=one"))
	b.setPodsOfSource(newPod("a", "two"), newPod("b", "one"))
	n = b.waitForSnapshot(n, "with the change", hasExactlyPods("a=two", "b=one"))
	b.setPodsOfSource()
	b.waitForSnapshot(n, "without pods", hasExactlyPods())
}
