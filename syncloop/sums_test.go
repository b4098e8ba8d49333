package syncloop_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
)

// TestHandlers_SumsEqualTheFullRecomputation: after any history of pods that are added, changed, terminated
// and removed, the sums of the handlers equal the sums over all pods.
func TestHandlers_SumsEqualTheFullRecomputation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newHarness()
		w.chain = []syncloop.PodAdmitHandler{syncloop.AdmitPodCount(4), syncloop.AdmitHostPorts(), syncloop.AdmitResources(parseResources("cpu=4"))}
		ctx, ran := context.Background(), map[types.UID]*v1.Pod{}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			uid := types.UID(fmt.Sprint("p", rapid.IntRange(0, 5).Draw(t, "uid")))
			desired, known := w.manager.GetPodByUID(uid)
			switch action := rapid.SampledFrom([]string{"add", "update", "delete", "remove", "work", "work", "work", "fail", "cleanup"}).Draw(t, "action"); {
			case action == "add" && !known:
				w.handlers.HandlePodAdditions(ctx, []*v1.Pod{drawPod(t, uid)})
			case action == "update" && known && !w.workers.View(uid).IsPodTerminationRequested():
				p := drawPod(t, uid)
				p.DeletionTimestamp = desired.DeletionTimestamp
				w.handlers.HandlePodUpdates(ctx, []*v1.Pod{p})
			case action == "delete" && known && desired.DeletionTimestamp == nil:
				p := desired.DeepCopy()
				p.DeletionTimestamp = &metav1.Time{}
				w.handlers.HandlePodUpdates(ctx, []*v1.Pod{p})
			case action == "remove" && known:
				w.handlers.HandlePodRemoves(ctx, []*v1.Pod{desired})
			case action == "work":
				w.workers.performWork(uid, lifecycle.Succeeded)
			case action == "fail":
				w.workers.performWork(uid, lifecycle.Failed)
			case action == "cleanup":
				_ = w.handlers.HandlePodCleanups(ctx)
			}
			w.handlers.HandleWaiting(ctx)
			if view := w.workers.View(uid); view.Known && !view.IsPodTerminationRequested() {
				ran[uid], _ = w.manager.GetPodByUID(uid)
			} else if !view.Started {
				delete(ran, uid)
			}
			if kept, recomputed := w.handlers.Sums(ran); kept != recomputed {
				t.Fatalf("step %d:\nkept       %s\nrecomputed %s", step, kept, recomputed)
			}
		}
	})
}

// drawPod draws a pod of random size.
func drawPod(t *rapid.T, uid types.UID) *v1.Pod {
	p := podRequesting(string(uid), fmt.Sprintf("cpu=%dm", rapid.IntRange(0, 20).Draw(t, "cpu")*100))
	p.UID = uid
	if rapid.IntRange(0, 3).Draw(t, "port") == 0 {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80}}
	}
	return p
}
