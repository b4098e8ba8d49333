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

// bench is the environment of one conformance case.
type bench struct {
	conformance.Bench
	h        Harness
	executor executor.Executor
	ctx      context.Context
	created  []Object
	streams  []func()
}

// requireReason fails the case unless err is an API error with one of the reasons.
func (b *bench) requireReason(err error, what string, reasons ...metav1.StatusReason) {
	b.Helper()
	if err == nil {
		b.Failf("%s was not refused with reason %v", what, reasons)
	}
	if reason := apierrors.ReasonForError(err); !slices.Contains(reasons, reason) {
		b.Failf("%s was refused with reason %q and not %v: %v", what, reason, reasons, err)
	}
}

// closeStreamsAndDeleteCreated closes the streams and deletes the objects of the case, the newest first. It
// removes finalizers first and ignores errors.
func (b *bench) closeStreamsAndDeleteCreated() {
	for _, end := range b.streams {
		end()
	}
	ctx := executor.Detach(b.ctx)
	zero := int64(0)
	for _, o := range slices.Backward(b.created) {
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

// objectName returns the name of the case, with dashes for slashes, and the short name.
func (b *bench) objectName(short string) string {
	return strings.ReplaceAll(b.Name, "/", "-") + "-" + short
}

// adminCreate creates an object as administrator, or fails the case. closeStreamsAndDeleteCreated deletes the
// object.
func adminCreate[T Object](b *bench, o T) T {
	b.Helper()
	out, err := b.h.Admin.Create(b.ctx, o)
	b.Must(err, "the administrator's create")
	b.created = append(b.created, out.DeepCopyObject().(Object))
	return out.(T)
}

// adminGet returns the object from the server as administrator, or fails the case.
func adminGet[T Object](b *bench, o T) T {
	b.Helper()
	out, err := b.h.Admin.Get(b.ctx, o)
	b.Must(err, "the administrator's get")
	return out.(T)
}

// requireGone fails the case unless the server responds that the object does not exist.
func (b *bench) requireGone(o Object) {
	b.Helper()
	_, err := b.h.Admin.Get(b.ctx, o)
	b.requireReason(err, "the administrator's get", metav1.StatusReasonNotFound)
}

// createPod creates a pod as administrator. The pod is bound to the node unless an edit changes that. For a pod
// of the node, createPod then waits until the node may read the pod, because a server may authorize nodes from
// a cache.
func (b *bench) createPod(short string, edits ...func(*v1.Pod)) *v1.Pod {
	b.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName(short)},
		Spec:       v1.PodSpec{NodeName: b.h.Node, Containers: []v1.Container{{Name: "main", Image: "example.org/image:1"}}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	pod = adminCreate(b, pod)
	if pod.Spec.NodeName == b.h.Node {
		b.retryUntilAllowed("Get of a new pod", func() error {
			_, err := b.h.Server.Pods().Get(b.ctx, pod.Namespace, pod.Name)
			return err
		})
	}
	return pod
}

// setNodeNameToOtherNode sets spec.nodeName of a pod to the name of another node. Tests pass it to createPod,
// which calls it before it creates the pod.
func (b *bench) setNodeNameToOtherNode(pod *v1.Pod) { pod.Spec.NodeName = b.h.Node + "-other" }

// registerNode creates the Node object as the node, after the edits, or fails the case.
func (b *bench) registerNode(edits ...func(*v1.Node)) *v1.Node {
	b.Helper()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node}}
	for _, edit := range edits {
		edit(node)
	}
	b.created = append(b.created, node.DeepCopy())
	out, err := b.h.Server.Nodes().Create(b.ctx, node)
	b.Must(err, "Nodes.Create")
	return out
}

// podRef returns the reference of a pod.
func podRef(pod *v1.Pod) apiserver.PodRef {
	return apiserver.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// patchStatus patches the status of a pod. The patch has the UID of the pod in its metadata.
func (b *bench) patchStatus(pod *v1.Pod, status string) (*v1.Pod, error) {
	b.Helper()
	return b.h.Server.Pods().PatchStatus(b.ctx, podRef(pod), fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":%s}`, pod.UID, status))
}

// mustPatchStatus patches the status of a pod, or fails the case.
func (b *bench) mustPatchStatus(pod *v1.Pod, status string) *v1.Pod {
	b.Helper()
	out, err := b.patchStatus(pod, status)
	b.Must(err, "PatchStatus "+status)
	return out
}

// retryUntilAllowed repeats a call while the server refuses it with Forbidden or NotFound, as it may for a
// moment after a pod was bound or the node was registered. Any other error, and the end of the case's time,
// fails the case.
func (b *bench) retryUntilAllowed(what string, call func() error) {
	b.Helper()
	for {
		err := call()
		if err == nil {
			return
		}
		reason := apierrors.ReasonForError(err)
		if reason != metav1.StatusReasonForbidden && reason != metav1.StatusReasonNotFound || b.executor.Sleep(b.ctx, 20*time.Millisecond) != nil {
			b.Failf("%s: %v", what, err)
		}
	}
}

// watchReader reads a stream of the case.
type watchReader[T Object] struct {
	b      *bench
	stream apiserver.Stream[T]
	last   string
}

// startWatch opens a stream, which is closed at the end of the case. It retries while the server does not allow
// the watch yet, and fails the case after another error.
func startWatch[T Object](b *bench, feed apiserver.Feed[T], opts apiserver.WatchOptions) *watchReader[T] {
	b.Helper()
	w := &watchReader[T]{b: b, last: opts.ResourceVersion}
	b.retryUntilAllowed("Watch", func() (err error) {
		w.stream, err = feed.Watch(b.ctx, opts)
		return err
	})
	b.streams = append(b.streams, w.closeStream)
	return w
}

// closeStream closes the stream if it is open.
func (w *watchReader[T]) closeStream() {
	if w.stream != nil {
		w.stream.Close()
		w.stream = nil
	}
}

// mustReadEventSkippingBookmarks returns the next event. It skips bookmarks except the bookmark that ends the initial events. It
// fails the case if the stream ends, or if the resource version of a MODIFIED or DELETED event is not newer
// than the last one.
func (w *watchReader[T]) mustReadEventSkippingBookmarks() apiserver.Event[T] {
	w.b.Helper()
	for {
		e, err := w.stream.Next(w.b.ctx)
		w.b.Must(err, "Next")
		w.b.Check(isNewerVersion(e.ResourceVersion, w.last) || e.Type != apiserver.Modified && e.Type != apiserver.Deleted,
			"an event %s has resource version %q after %q", e.Type, e.ResourceVersion, w.last)
		w.last = e.ResourceVersion
		if e.Type != apiserver.Bookmark || e.InitialEventsEnd {
			return e
		}
	}
}

// requireEvents fails the case unless the next events are these. An event has the form "ADDED name", or
// "BOOKMARK" for a bookmark.
func (w *watchReader[T]) requireEvents(want ...string) {
	w.b.Helper()
	got := make([]string, len(want))
	for i := range want {
		e := w.mustReadEventSkippingBookmarks()
		got[i] = string(e.Type)
		if e.Type != apiserver.Bookmark {
			got[i] += " " + e.Object.GetName()
		}
	}
	w.b.Check(slices.Equal(got, want), "the stream shows %q and not %q", got, want)
}

// readInitialEvents reads the initial events to their end and returns the sorted names of the objects. It fails
// the case if one of the events is not ADDED.
func (w *watchReader[T]) readInitialEvents() []string {
	w.b.Helper()
	names := map[string]bool{}
	for {
		e := w.mustReadEventSkippingBookmarks()
		if e.InitialEventsEnd {
			return slices.Sorted(maps.Keys(names))
		}
		w.b.Check(e.Type == apiserver.Added, "%s before the end of the initial events", e.Type)
		names[e.Object.GetName()] = true
	}
}

// mustReadUntilEnd reads and drops events until Next returns an error, and returns that error. It fails the case if
// the stream does not end in time.
func (w *watchReader[T]) mustReadUntilEnd() error {
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

// isNewerVersion reports whether candidate is a greater number than the version than. It returns true if only
// candidate is a number, and false if candidate is no number.
func isNewerVersion(candidate, than string) bool {
	a, errA := strconv.ParseUint(candidate, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	return errA == nil && (errB != nil || a > b)
}
