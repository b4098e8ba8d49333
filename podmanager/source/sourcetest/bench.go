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

// bench is where one case works: the source, and the sink it is run with.
type bench struct {
	conformance.Bench
	h    Harness
	sink *sink

	cancel context.CancelFunc // of the Run under way; nil if none is
	ended  chan error
}

// set makes these pods all that the source has.
func (b *bench) set(pods ...*v1.Pod) {
	b.Helper()
	own := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		own[i] = pod.DeepCopy()
	}
	b.Must(b.h.Set(own), "the harness")
}

// start runs the source.
func (b *bench) start() {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.ended = cancel, make(chan error, 1)
	ended, sink := b.ended, b.sink
	go func() { ended <- b.h.Source.Run(ctx, sink) }()
}

// stop ends the Run under way and returns what it has returned. It is false if it does
// not end.
func (b *bench) stop() (err error, ok bool) {
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

// until waits for a snapshot that has arrived after the first n, and of which ok is
// true. It returns how many there are by then.
func (b *bench) until(n int, what string, ok func(source.Snapshot) bool) int {
	b.Helper()
	late, cancel := context.WithTimeout(context.Background(), b.h.Timeout)
	defer cancel()
	for {
		snapshots, _ := b.sink.all()
		if slices.ContainsFunc(snapshots[min(n, len(snapshots)):], ok) {
			return len(snapshots)
		}
		select {
		case <-b.sink.news:
		case <-late.Done():
			b.Failf("no snapshot %s within %v; there were %s", what, b.h.Timeout, describe(snapshots))
		}
	}
}

// pause waits until nothing is likely to happen any more.
func (b *bench) pause() {
	over, cancel := context.WithTimeout(context.Background(), b.h.Pause)
	defer cancel()
	<-over.Done()
}

// unmodified wants every pod that was handed over to be as it was then.
func (b *bench) unmodified() {
	b.Helper()
	snapshots, copies := b.sink.all()
	for i, s := range snapshots {
		if !equality.Semantic.DeepEqual(s, copies[i]) {
			b.Failf("a snapshot, or a pod of it, was modified after it had been handed over: %s was %s", describe(snapshots[i:i+1]), describe(copies[i:i+1]))
		}
	}
}

// describe shows snapshots in a line.
func describe(snapshots []source.Snapshot) string {
	if len(snapshots) == 0 {
		return "none"
	}
	var all []string
	for _, s := range snapshots {
		var words []string
		for _, pod := range s.Pods {
			words = append(words, fmt.Sprintf("%s=%s", pod.UID, image(pod)))
		}
		if s.Incomplete {
			words = append(words, "incomplete")
		}
		all = append(all, "["+strings.Join(words, " ")+"]")
	}
	return strings.Join(all, " ")
}

// pod is a small valid pod.
func pod(uid, image string) *v1.Pod {
	return &v1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "pod-" + uid, Namespace: "default", UID: types.UID(uid)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: image}}},
	}
}

// image is that of a pod's first container.
func image(pod *v1.Pod) string {
	if pod == nil || len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Image
}

// exactly is true of a complete snapshot of these pods, each as uid=image, in any order.
func exactly(pods ...string) func(source.Snapshot) bool {
	return func(s source.Snapshot) bool {
		var got []string
		for _, pod := range s.Pods {
			got = append(got, string(pod.UID)+"="+image(pod))
		}
		slices.Sort(got)
		return !s.Incomplete && slices.Equal(got, pods)
	}
}
