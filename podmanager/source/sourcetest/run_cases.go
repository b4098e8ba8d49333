package sourcetest

import "k8s.io/apimachinery/pkg/types"

// runCases are about Run itself.
var runCases = []Case{
	{"run/first", "Run hands over a snapshot of what is there as soon as it knows it, without a change.", runFirst},
	{"run/empty", "Run hands over an empty, complete snapshot if there is no pod.", runEmpty},
	{"run/ends", "Run returns nil, soon after its context has ended or before.", runEnds},
	{"run/again", "Run can be called again after it has returned, and hands over what is there by then.", runAgain},
	{"snapshot/identity", "Every pod of a snapshot has a name, a namespace and a UID, and no two pods share a UID or a full name.", snapshotIdentity},
}

func runFirst(b *bench) {
	b.set(pod("a", "one"), pod("b", "one"))
	b.start()
	b.until(0, "with the pods a and b", exactly("a=one", "b=one"))
}

func runEmpty(b *bench) {
	b.set()
	b.start()
	b.until(0, "without pods", exactly())
}

func runEnds(b *bench) {
	b.set(pod("a", "one"))
	b.start()
	b.until(0, "with the pod a", exactly("a=one"))
	switch err, ok := b.stop(); {
	case !ok:
		b.Failf("it has not returned %v after its context ended", b.h.Timeout)
	case err != nil:
		b.Failf("it returned %v", err)
	}
}

func runAgain(b *bench) {
	b.set(pod("a", "one"))
	b.start()
	n := b.until(0, "with the pod a", exactly("a=one"))
	if _, ok := b.stop(); !ok {
		b.Failf("it has not returned %v after its context ended", b.h.Timeout)
	}
	b.start()
	n = b.until(n, "of the second Run", exactly("a=one"))
	b.set(pod("a", "two"))
	b.until(n, "of the second Run with the change", exactly("a=two"))
}

func snapshotIdentity(b *bench) {
	b.set(pod("a", "one"), pod("b", "one"))
	b.start()
	b.until(0, "with two pods", exactly("a=one", "b=one"))
	b.set(pod("a", "one"), pod("c", "one"))
	b.until(0, "with two other pods", exactly("a=one", "c=one"))
	snapshots, _ := b.sink.all()
	for i, s := range snapshots {
		names, uids := map[types.NamespacedName]bool{}, map[types.UID]bool{}
		for _, pod := range s.Pods {
			name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			if pod.Name == "" || pod.Namespace == "" || pod.UID == "" {
				b.Failf("a pod has the namespace %q, the name %q and the UID %q", pod.Namespace, pod.Name, pod.UID)
			}
			if names[name] || uids[pod.UID] {
				b.Failf("two pods share a UID or a full name: %s", describe(snapshots[i:i+1]))
			}
			names[name], uids[pod.UID] = true, true
		}
	}
}
