package sourcetest

import "k8s.io/apimachinery/pkg/types"

// runCases check Run itself.
var runCases = []Case{
	{"run/first", "Run delivers a first snapshot as soon as it has read its input, without a change.", checkFirstSnapshot},
	{"run/empty", "Run delivers an empty, complete snapshot if there is no pod.", checkEmptySnapshot},
	{"run/ends", "Run returns nil soon after its context has ended, or earlier.", checkRunReturns},
	{"run/again", "Run can be called again after it has returned, and delivers the present pods.", checkSecondRun},
	{"snapshot/identity", "Every pod of a snapshot has a name, a namespace and a UID, and no two pods share a UID or a full name.", checkIdentities},
}

func checkFirstSnapshot(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"), newPod("b", "one"))
	b.startRun()
	b.waitForSnapshot(0, "with the pods a and b", hasExactlyPods("a=one", "b=one"))
}

func checkEmptySnapshot(b *testCase) {
	b.setPodsOfSource()
	b.startRun()
	b.waitForSnapshot(0, "without pods", hasExactlyPods())
}

func checkRunReturns(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.startRun()
	b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	switch err, ok := b.stopRun(); {
	case !ok:
		b.Failf("Run has not returned %v after its context ended", b.h.Timeout)
	case err != nil:
		b.Failf("Run returned %v", err)
	}
}

func checkSecondRun(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"))
	b.startRun()
	n := b.waitForSnapshot(0, "with the pod a", hasExactlyPods("a=one"))
	if _, ok := b.stopRun(); !ok {
		b.Failf("Run has not returned %v after its context ended", b.h.Timeout)
	}
	b.startRun()
	n = b.waitForSnapshot(n, "of the second Run", hasExactlyPods("a=one"))
	b.setPodsOfSource(newPod("a", "two"))
	b.waitForSnapshot(n, "of the second Run with the change", hasExactlyPods("a=two"))
}

func checkIdentities(b *testCase) {
	b.setPodsOfSource(newPod("a", "one"), newPod("b", "one"))
	b.startRun()
	b.waitForSnapshot(0, "with two pods", hasExactlyPods("a=one", "b=one"))
	b.setPodsOfSource(newPod("a", "one"), newPod("c", "one"))
	b.waitForSnapshot(0, "with two other pods", hasExactlyPods("a=one", "c=one"))
	snapshots, _ := b.sink.recorded()
	for i, s := range snapshots {
		names, uids := map[types.NamespacedName]bool{}, map[types.UID]bool{}
		for _, pod := range s.Pods {
			name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			if pod.Name == "" || pod.Namespace == "" || pod.UID == "" {
				b.Failf("a pod has the namespace %q, the name %q and the UID %q", pod.Namespace, pod.Name, pod.UID)
			}
			if names[name] || uids[pod.UID] {
				b.Failf("two pods share a UID or a full name: %s", describeSnapshots(snapshots[i:i+1]))
			}
			names[name], uids[pod.UID] = true, true
		}
	}
}
