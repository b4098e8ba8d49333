package apiservertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// bench is where one case works.
type bench struct {
	conformance.Bench
	h       Harness
	seam    executor.Executor
	ctx     context.Context
	made    []Object
	streams []func()
}

// refused wants an answer with one of these reasons.
func (b *bench) refused(err error, what string, reasons ...metav1.StatusReason) {
	b.Helper()
	if err == nil {
		b.Failf("%s was not refused with reason %v", what, reasons)
	}
	if reason := apierrors.ReasonForError(err); !slices.Contains(reasons, reason) {
		b.Failf("%s was refused with reason %q and not %v: %v", what, reason, reasons, err)
	}
}

// clean deletes what was made, the newest first.
func (b *bench) clean() {
	for _, end := range b.streams {
		end()
	}
	ctx := executor.Detach(b.ctx)
	zero := int64(0)
	for _, o := range slices.Backward(b.made) {
		if stored, err := b.h.Admin.Get(ctx, o); err == nil {
			if len(stored.GetFinalizers()) > 0 {
				stored.SetFinalizers(nil)
				_, _ = b.h.Admin.Update(ctx, stored)
			}
			o.SetUID("")
			_ = b.h.Admin.Delete(ctx, o, &zero)
		}
	}
}

// name is that of an object of this case.
func (b *bench) name(short string) string {
	return strings.ReplaceAll(b.Name, "/", "-") + "-" + short
}

// create makes an object as admin.
func create[T Object](b *bench, o T) T {
	b.Helper()
	out, err := b.h.Admin.Create(b.ctx, o)
	b.Must(err, "the administrator's create")
	b.made = append(b.made, out.DeepCopyObject().(Object))
	return out.(T)
}

// stored is what the server has.
func stored[T Object](b *bench, o T) T {
	b.Helper()
	out, err := b.h.Admin.Get(b.ctx, o)
	b.Must(err, "the administrator's get")
	return out.(T)
}

// gone wants the server not to have it.
func (b *bench) gone(o Object) {
	b.Helper()
	_, err := b.h.Admin.Get(b.ctx, o)
	b.refused(err, "the administrator's get", metav1.StatusReasonNotFound)
}

// pod makes a pod that is bound to the node, unless an edit says otherwise. A server may
// decide what a node may do by a cache; pod waits until that knows the pod, and so all
// that were made before.
func (b *bench) pod(short string, edits ...func(*v1.Pod)) *v1.Pod {
	b.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.name(short)},
		Spec:       v1.PodSpec{NodeName: b.h.Node, Containers: []v1.Container{{Name: "main", Image: "example.org/image:1"}}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	pod = create(b, pod)
	if pod.Spec.NodeName == b.h.Node {
		b.eventually("Get of a new pod", func() error {
			_, err := b.h.Server.Pods().Get(b.ctx, pod.Namespace, pod.Name)
			return err
		})
	}
	return pod
}

// elsewhere binds a pod to another node.
func (b *bench) elsewhere(pod *v1.Pod) { pod.Spec.NodeName = b.h.Node + "-other" }

// node registers the node.
func (b *bench) node(edits ...func(*v1.Node)) *v1.Node {
	b.Helper()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node}}
	for _, edit := range edits {
		edit(node)
	}
	b.made = append(b.made, node.DeepCopy())
	out, err := b.h.Server.Nodes().Create(b.ctx, node)
	b.Must(err, "Nodes.Create")
	return out
}

func ref(pod *v1.Pod) apiserver.PodRef {
	return apiserver.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// patch sends a status, with the UID of the pod in its metadata.
func (b *bench) patch(pod *v1.Pod, status string) (*v1.Pod, error) {
	b.Helper()
	return b.h.Server.Pods().PatchStatus(b.ctx, ref(pod), fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":%s}`, pod.UID, status))
}

func (b *bench) patched(pod *v1.Pod, status string) *v1.Pod {
	b.Helper()
	out, err := b.patch(pod, status)
	b.Must(err, "PatchStatus "+status)
	return out
}

// eventually repeats what a server may refuse for a moment after a pod was bound or the
// node registered.
func (b *bench) eventually(what string, do func() error) {
	b.Helper()
	for {
		err := do()
		if err == nil {
			return
		}
		reason := apierrors.ReasonForError(err)
		if reason != metav1.StatusReasonForbidden && reason != metav1.StatusReasonNotFound || b.seam.Sleep(b.ctx, 20*time.Millisecond) != nil {
			b.Failf("%s: %v", what, err)
		}
	}
}

// watched is a stream of the case.
type watched[T Object] struct {
	b      *bench
	stream apiserver.Stream[T]
	last   string
}

func watchOf[T Object](b *bench, feed apiserver.Feed[T], opts apiserver.WatchOptions) *watched[T] {
	b.Helper()
	w := &watched[T]{b: b, last: opts.ResourceVersion}
	b.eventually("Watch", func() (err error) {
		w.stream, err = feed.Watch(b.ctx, opts)
		return err
	})
	b.streams = append(b.streams, w.close)
	return w
}

// close ends the stream, once.
func (w *watched[T]) close() {
	if w.stream != nil {
		w.stream.Close()
		w.stream = nil
	}
}

// next is the next event of which ok is true; bookmarks that are not the end of the
// initial events are left out.
func (w *watched[T]) next() apiserver.Event[T] {
	w.b.Helper()
	for {
		e, err := w.stream.Next(w.b.ctx)
		w.b.Must(err, "Next")
		w.b.Check(newer(e.ResourceVersion, w.last) || e.Type != apiserver.Modified && e.Type != apiserver.Deleted,
			"an event %s has resource version %q after %q", e.Type, e.ResourceVersion, w.last)
		w.last = e.ResourceVersion
		if e.Type != apiserver.Bookmark || e.InitialEventsEnd {
			return e
		}
	}
}

// expect wants the next events to be these, as "ADDED name" or "BOOKMARK".
func (w *watched[T]) expect(want ...string) {
	w.b.Helper()
	got := make([]string, len(want))
	for i := range want {
		e := w.next()
		got[i] = string(e.Type)
		if e.Type != apiserver.Bookmark {
			got[i] += " " + e.Object.GetName()
		}
	}
	w.b.Check(slices.Equal(got, want), "the stream shows %q and not %q", got, want)
}

// initial reads the initial events and returns the names.
func (w *watched[T]) initial() []string {
	w.b.Helper()
	names := map[string]bool{}
	for {
		e := w.next()
		if e.InitialEventsEnd {
			return slices.Sorted(maps.Keys(names))
		}
		w.b.Check(e.Type == apiserver.Added, "%s before the end of the initial events", e.Type)
		names[e.Object.GetName()] = true
	}
}

// ends wants Next to return an error, and returns it.
func (w *watched[T]) ends() error {
	w.b.Helper()
	for {
		if _, err := w.stream.Next(w.b.ctx); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				w.b.Failf("the stream has not ended")
			}
			return err
		}
	}
}

// newer reports whether a version is after another.
func newer(version, than string) bool {
	a, errA := strconv.ParseUint(version, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	return errA == nil && (errB != nil || a > b)
}
