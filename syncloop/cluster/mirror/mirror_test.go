package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/mirror"
)

func static(uid, hash string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(uid), Name: "web", Namespace: "default",
		Annotations: map[string]string{podmanager.ConfigSourceAnnotation: "file", podmanager.ConfigHashAnnotation: hash},
	}, Spec: v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "i"}}}}
}

var object = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "node-uid"}}

// TestDecide runs the texts in testdata: the facts about a name, and the action.
//
//	static=HASH                                a static pod is desired
//	mirror=HASH[,deleted][,other-owner][,no-owner]   a mirror pod is at the server
//	node=here|leaving                          the node's object is known
//	taken, terminating, complete               as in mirror.Facts
func TestDecide_MI4_MI14_MI18_MI22_B129(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "decide", d.Cmd)
			f := mirror.Facts{Taken: d.HasArg("taken"), Terminating: d.HasArg("terminating"), Complete: d.HasArg("complete")}
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "static":
					f.Static = static("s", arg.Vals[0])
				case "mirror":
					f.Mirror = mirrored(arg.Vals[0])
				case "node":
					f.Node = object.DeepCopy()
					if arg.Vals[0] == "leaving" {
						f.Node.DeletionTimestamp = &metav1.Time{}
					}
				}
			}
			return mirror.Decide(f).String() + "\n"
		})
	})
}

// mirrored is a mirror pod as a story names it.
func mirrored(text string) *v1.Pod {
	how := strings.Split(text, ",")
	pod := mirror.Build(static("s", how[0]), object)
	for _, how := range how[1:] {
		switch how {
		case "deleted":
			pod.DeletionTimestamp = &metav1.Time{}
		case "other-owner":
			pod.OwnerReferences[0].UID = "before"
		case "no-owner":
			pod.OwnerReferences = nil
		}
	}
	return pod
}

func TestBuild_MI9(t *testing.T) {
	pod := static("s", "h")
	m := mirror.Build(pod, object)
	assert.Equal(t, "h", m.Annotations[podmanager.ConfigMirrorAnnotation])
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "node-uid", Controller: new(true)}}, m.OwnerReferences)
	assert.Equal(t, pod.Spec, m.Spec)
	assert.NotContains(t, pod.Annotations, podmanager.ConfigMirrorAnnotation)
}

// harness is a server, a store that a watch fills, and a reconciler in one simulation.
type harness struct {
	*testing.T
	*executor.Scheduler
	server      *apiservertest.Server
	pods        *podmanager.Store
	reconciler  *mirror.Reconciler
	terminating bool
	incomplete  bool
	said        []string
	broken      bool // the recorder
}

func (h *harness) Event(o k8sruntime.Object, _, reason, _ string) {
	h.said = append(h.said, o.(metav1.Object).GetName()+" "+reason)
	if h.broken {
		panic("the recorder has a bug")
	}
}

func (h *harness) Eventf(k8sruntime.Object, string, string, string, ...any) {}

func simulate(t *testing.T) *harness {
	h := &harness{T: t, Scheduler: executor.NewScheduler(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), pods: podmanager.New()}
	h.server = apiservertest.New(apiservertest.Config{Clock: h.NewProcess().Clock(), WatchTimeout: 100 * time.Hour})
	process := h.NewProcess()
	t.Cleanup(process.Crash)
	created, err := h.server.Admin().Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.NoError(t, err)
	client := h.server.Client("n1")
	h.reconciler, err = mirror.New(mirror.Config{
		Pods: h.pods, Server: client.Pods(), Node: func() *v1.Node { return created.(*v1.Node) }, Recorder: h, Clock: process.Clock(),
		Terminating: func(string) bool { return h.terminating }, Complete: func() bool { return !h.incomplete },
	})
	require.NoError(t, err)
	process.Go(func() { _ = h.reconciler.Run(context.Background()) })
	process.Go(func() { h.watch(client) })
	return h
}

// watch keeps the store as the server is.
func (h *harness) watch(client *apiservertest.Client) {
	stream, err := client.PodFeed().Watch(context.Background(), apiserver.WatchOptions{SendInitialEvents: true})
	for err == nil {
		var e apiserver.Event[*v1.Pod]
		if e, err = stream.Next(context.Background()); err != nil || e.Object == nil {
			continue
		}
		e.Object.Annotations = maps(e.Object.Annotations)
		if e.Type == apiserver.Deleted {
			h.pods.RemovePod(e.Object)
		} else {
			h.pods.UpdatePod(e.Object)
		}
	}
}

// maps stamps the annotations as a source does.
func maps(annotations map[string]string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[podmanager.ConfigSourceAnnotation] = "api"
	return annotations
}

// after lets time pass and returns the writes that were asked for, and the events.
func (h *harness) after(d time.Duration) string {
	h.RunUntil(h.Now().Add(d))
	var all []string
	for _, r := range h.server.TakeRequests() {
		if r.Verb != "watch" {
			all = append(all, fmt.Sprint(r))
		}
	}
	all = append(all, h.said...)
	h.said = nil
	return strings.Join(all, "\n")
}

func (h *harness) hash() string {
	if pod := h.server.Admin().Pod("default", "web"); pod != nil {
		return pod.Annotations[podmanager.ConfigMirrorAnnotation]
	}
	return ""
}

func TestReconciler_SecondRun(t *testing.T) {
	h := simulate(t)
	h.after(time.Second)
	assert.ErrorIs(t, h.reconciler.Run(t.Context()), runtime.ErrSecondRun)
}

// TestReconciler_MI7_MI16_MI17: created at once, again if another program deletes it or
// the manifest changes, and deleted with the static pod.
func TestReconciler_MI7_MI16_MI17(t *testing.T) {
	h := simulate(t)
	h.pods.AddPod(static("s", "h1"))
	assert.Equal(t, "create pods default/web", h.after(time.Second))
	assert.Empty(t, h.after(time.Hour))

	require.NoError(t, h.server.Admin().Delete(t.Context(), h.server.Admin().Pod("default", "web"), nil))
	assert.Equal(t, "delete pods default/web\ncreate pods default/web", h.after(time.Second))

	h.terminating = true
	h.pods.RemovePod(static("s", "h1"))
	h.pods.AddPod(static("t", "h2"))
	assert.Empty(t, h.after(time.Minute), "the old one still ends")
	h.terminating = false
	h.reconciler.Recheck()
	assert.Equal(t, "delete pods default/web\ncreate pods default/web", h.after(time.Second))
	assert.Equal(t, "h2", h.hash())

	h.incomplete = true
	h.pods.RemovePod(static("t", "h2"))
	assert.Empty(t, h.after(time.Minute))
	h.incomplete = false
	h.reconciler.Recheck()
	assert.Equal(t, "delete pods default/web", h.after(time.Second))
	assert.Nil(t, h.server.Admin().Pod("default", "web"))
	assert.Empty(t, h.after(time.Hour))
}

// TestReconciler_MI16_DeletedForEver: if a program deletes each mirror pod at once, as another node with the same
// name does, the next mirror pod is created later and later. When the program stops, there is a mirror pod within a
// minute.
func TestReconciler_MI16_DeletedForEver(t *testing.T) {
	h := simulate(t)
	deleter := h.NewProcess()
	deleter.Go(func() {
		for executor.Over(deleter.Clock()).Sleep(context.Background(), 10*time.Millisecond) == nil {
			_ = h.server.Admin().DeletePod("default", "web", 0) // There may be none.
		}
	})
	h.pods.AddPod(static("s", "h1"))
	assert.Less(t, strings.Count(h.after(10*time.Minute), "create"), 20)
	deleter.Crash()
	h.after(time.Minute)
	assert.Equal(t, "h1", h.hash())
	h.after(time.Hour)
	require.NoError(t, h.server.Admin().DeletePod("default", "web", 0))
	assert.Contains(t, h.after(time.Second), "create", "the next deletion is the first one again")
}

// TestReconciler_MI18_KB6_NameClash: one event, and the ordinary pod is left alone; when it
// goes there is a mirror.
func TestReconciler_MI18_KB6_NameClash(t *testing.T) {
	h := simulate(t)
	h.broken = true // What panics over an event loses that.
	ordinary, err := h.server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "i"}}},
	})
	require.NoError(t, err)
	h.after(time.Second)
	h.pods.AddPod(static("s", "h1"))
	assert.Equal(t, "web MirrorPodNameTaken", h.after(time.Second))
	assert.Empty(t, h.after(time.Hour))
	require.NoError(t, h.server.Admin().Delete(t.Context(), ordinary, new(int64)))
	assert.Equal(t, "create pods default/web", h.after(time.Second))
	assert.Equal(t, "h1", h.hash())
}

// TestReconciler_MI18_ClashAfterAFailure: a name that is taken while a creation waits for its
// next attempt is looked at again when it is free.
func TestReconciler_MI18_ClashAfterAFailure(t *testing.T) {
	h := simulate(t)
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "pods", Times: 2, Err: context.DeadlineExceeded})
	h.pods.AddPod(static("s", "h1"))
	h.after(1500 * time.Millisecond)
	ordinary, err := h.server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "i"}}},
	})
	require.NoError(t, err)
	assert.Equal(t, "web MirrorPodNameTaken", h.after(time.Hour))
	require.NoError(t, h.server.Admin().Delete(t.Context(), ordinary, new(int64)))
	assert.Equal(t, "create pods default/web", h.after(time.Second))
}

// TestReconciler_MI11_ExistsAlready: what the watch has not shown is looked at; the right
// mirror stays, another one is replaced.
func TestReconciler_MI11_ExistsAlready(t *testing.T) {
	h := simulate(t)
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "pods", Times: 1, Lost: true})
	h.server.Inject(apiservertest.Fault{Verb: "watch", Resource: "pods", Hang: true})
	h.pods.AddPod(static("s", "h1"))
	h.after(time.Minute)
	first := h.server.Admin().Pod("default", "web").UID
	h.after(time.Minute)
	assert.Equal(t, first, h.server.Admin().Pod("default", "web").UID)
	h.pods.RemovePod(static("s", "h1"))
	h.pods.AddPod(static("t", "h2"))
	h.after(time.Minute)
	assert.Equal(t, "h2", h.hash())
}

// TestReconciler_KB8_Refused: with pauses that grow, for as long as it takes.
func TestReconciler_KB8_Refused(t *testing.T) {
	h := simulate(t)
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "pods", Times: 9, Err: context.DeadlineExceeded})
	h.pods.AddPod(static("s", "h1"))
	silent := h.after(time.Minute)
	assert.LessOrEqual(t, strings.Count(silent, "create"), 7)
	assert.NotContains(t, silent, mirror.ReasonRefused, "no answer is no refusal")
	h.after(10 * time.Minute)
	assert.Equal(t, "h1", h.hash())

	h.pods.RemovePod(static("s", "h1"))
	h.after(time.Minute)
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "pods", Times: 5, Err: apierrors.NewForbidden(v1.Resource("pods"), "web", errors.New("exceeded quota"))})
	h.pods.AddPod(static("t", "h2"))
	assert.Equal(t, 1, strings.Count(h.after(10*time.Minute), "n1 "+mirror.ReasonRefused), "one event on the node")
	assert.Equal(t, "h2", h.hash())
}

// The first answer of any call ends the pauses.
func TestReconciler_Retry(t *testing.T) {
	h := simulate(t)
	clear := h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "pods", Err: context.DeadlineExceeded})
	h.pods.AddPod(static("s", "h1"))
	h.after(20 * time.Minute)
	clear()
	h.reconciler.Retry()
	assert.Equal(t, "create pods default/web", h.after(0))
	h.reconciler.Retry()
	assert.Empty(t, h.after(time.Minute), "names without a failure keep their state")
}

// TestMuseum_K116483_AMirrorPodDeletedByHand: a user deleted the mirror pod of a static pod. It stayed away
// until the static pod changed, so the API server did not know of a running pod. It is created again within a second. (Also 22625.)
func TestMuseum_K116483_AMirrorPodDeletedByHand(t *testing.T) {
	h := simulate(t)
	h.pods.AddPod(static("s", "h1"))
	h.after(time.Hour)
	for range 3 {
		require.NoError(t, h.server.Admin().DeletePod("default", "web", 0))
		assert.Contains(t, h.after(time.Second), "create pods default/web")
		assert.Equal(t, "h1", h.hash())
		h.after(time.Hour)
	}
}
