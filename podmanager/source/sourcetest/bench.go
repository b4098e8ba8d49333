package sourcetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/podmanager/source"
)

// testCase is the state of one running case: the source and its sink.
type testCase struct {
	conformance.Bench
	h    Harness
	sink *recordingSink

	cancel context.CancelFunc // of the present Run; nil: none
	ended  chan error
}

// setPodsOfSource makes copies of these pods the only pods of the source under test. It fails the case if the
// harness cannot set them.
func (b *testCase) setPodsOfSource(pods ...*v1.Pod) {
	b.Helper()
	own := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		own[i] = pod.DeepCopy()
	}
	b.Must(b.h.Set(own), "the harness")
}

// startRun starts Run of the source in a goroutine. stopRun ends it.
func (b *testCase) startRun() {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.ended = cancel, make(chan error, 1)
	ended, sink := b.ended, b.sink
	go func() { ended <- b.h.Source.Run(ctx, sink) }()
}

// stopRun cancels Run of the source and returns its error. ok is false if Run does not return in time. If Run
// was not started, it returns nil and true.
func (b *testCase) stopRun() (err error, ok bool) {
	if b.cancel == nil {
		return nil, true
	}
	b.cancel()
	b.cancel = nil
	late, cancel := context.WithTimeout(context.Background(), b.h.Timeout)
	defer cancel()
	select {
	case err := <-b.ended:
		return err, true
	case <-late.Done():
		return nil, false
	}
}

// waitForSnapshot waits for a snapshot, after the first n, for which ok returns true. It returns the number of
// snapshots so far. If none arrives in time, it fails the case.
func (b *testCase) waitForSnapshot(n int, what string, ok func(source.Snapshot) bool) int {
	b.Helper()
	late, cancel := context.WithTimeout(context.Background(), b.h.Timeout)
	defer cancel()
	for {
		snapshots, _ := b.sink.recorded()
		if slices.ContainsFunc(snapshots[min(n, len(snapshots)):], ok) {
			return len(snapshots)
		}
		select {
		case <-b.sink.changed:
		case <-late.Done():
			b.Failf("no snapshot %s within %v; there were %s", what, b.h.Timeout, describeSnapshots(snapshots))
		}
	}
}

// waitPause waits for Harness.Pause, so that a wrong snapshot has time to arrive.
func (b *testCase) waitPause() {
	over, cancel := context.WithTimeout(context.Background(), b.h.Pause)
	defer cancel()
	<-over.Done()
}

// checkUnmodified fails the case if a snapshot, or a pod in it, was modified after its delivery.
func (b *testCase) checkUnmodified() {
	b.Helper()
	snapshots, copies := b.sink.recorded()
	for i, s := range snapshots {
		if !equality.Semantic.DeepEqual(s, copies[i]) {
			b.Failf("a snapshot or a pod was modified after its delivery: %s was %s", describeSnapshots(snapshots[i:i+1]), describeSnapshots(copies[i:i+1]))
		}
	}
}

// describeSnapshots returns the pods of each snapshot, as uid=image, in one line of text.
func describeSnapshots(snapshots []source.Snapshot) string {
	if len(snapshots) == 0 {
		return "none"
	}
	var all []string
	for _, s := range snapshots {
		var words []string
		for _, pod := range s.Pods {
			words = append(words, fmt.Sprintf("%s=%s", pod.UID, firstImage(pod)))
		}
		if s.Incomplete {
			words = append(words, "incomplete")
		}
		all = append(all, "["+strings.Join(words, " ")+"]")
	}
	return strings.Join(all, " ")
}

// newPod returns a small valid pod with one container.
func newPod(uid, image string) *v1.Pod {
	return &v1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "pod-" + uid, Namespace: "default", UID: types.UID(uid)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: image}}},
	}
}

// firstImage returns the image of the pod's first container. It returns "" if the pod is nil or has no
// container.
func firstImage(pod *v1.Pod) string {
	if pod == nil || len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Image
}

// hasExactlyPods returns a function that reports whether a snapshot is complete and has exactly these pods.
// Each is written as uid=image, and they are sorted.
func hasExactlyPods(pods ...string) func(source.Snapshot) bool {
	return func(s source.Snapshot) bool {
		var got []string
		for _, pod := range s.Pods {
			got = append(got, string(pod.UID)+"="+firstImage(pod))
		}
		slices.Sort(got)
		return !s.Incomplete && slices.Equal(got, pods)
	}
}
