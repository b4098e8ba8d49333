package syncloop_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
)

// printer is a SyncHandler that prints its calls.
type printer struct{ desired *podmanager.Store }

func (p printer) HandlePodAdditions(_ context.Context, pods []*v1.Pod) {
	for _, pod := range pods {
		p.desired.AddPod(pod)
		fmt.Println("wanted:", pod.Name)
	}
}

func (p printer) HandlePodSyncs(_ context.Context, pods []*v1.Pod) {
	for _, pod := range pods {
		fmt.Println("to be looked at:", pod.Name)
	}
}
func (p printer) HandlePodUpdates(context.Context, []*v1.Pod)   {}
func (p printer) HandlePodRemoves(context.Context, []*v1.Pod)   {}
func (p printer) HandlePodReconcile(context.Context, []*v1.Pod) {}
func (p printer) HandlePodCleanups(context.Context) error       { return nil }

// desire delivers one batch of updates. A source.Mux delivers many.
type desire struct{ updates []podmanager.PodUpdate }

func (d *desire) SetWake(func()) {}
func (d *desire) TakeAll(buf []podmanager.PodUpdate) []podmanager.PodUpdate {
	buf, d.updates = append(buf, d.updates...), nil
	return buf
}

// A loop with an own handler. Run calls Step in a loop.
func ExampleNew() {
	ctx := context.Background()
	desired := podmanager.New()
	observed, _ := pleg.New(pleg.Config{Runtime: memory.New(memory.Config{})})
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1", Name: "web", Namespace: "default"}}
	loop, err := syncloop.New(syncloop.Config{
		Handler: printer{desired},
		Updates: &desire{[]podmanager.PodUpdate{{Op: podmanager.ADD, Source: "api", Pods: []*v1.Pod{web}}}},
		Desired: desired,
		Changes: observed,
	})
	if err != nil {
		panic(err)
	}
	loop.Step(ctx)
	loop.RequestSync("u1")
	loop.RequestSync("u2") // u2 is not desired.
	loop.Step(ctx)
	// Output:
	// wanted: web
	// to be looked at: web
}

// The standard handlers, with admission for a node of one pod.
func ExampleNewHandlers() {
	manager, statuses := podmanager.New(), status.New(status.Config{})
	sources, _ := source.New(source.Config{Sources: map[string]source.Source{"api": source.NewHandle()}})
	observed, _ := pleg.New(pleg.Config{Runtime: memory.New(memory.Config{})})
	workers, _ := podworkers.New(podworkers.Config{Syncer: podworkerstest.NewSyncer(nil), Cache: observed})
	handlers, err := syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: manager,
		Workers: workers,
		Status:  statuses,
		Runtime: observed,
		Sources: sources,
		Admit:   []syncloop.PodAdmitHandler{syncloop.AdmitPodCount(1), syncloop.AdmitHostPorts()},
	})
	if err != nil {
		panic(err)
	}
	web, job := podworkerstest.Pod("web"), podworkerstest.Pod("job")
	handlers.HandlePodAdditions(context.Background(), []*v1.Pod{web, job})
	for _, pod := range manager.GetPods() {
		said, _ := statuses.GetPodStatus(pod.UID)
		fmt.Printf("%s has a worker: %t; %q\n", pod.Name, workers.View(pod.UID).Known, said.Message)
	}
	// Output:
	// web has a worker: true; ""
	// job has a worker: false; "Pod was rejected: the node runs 1 pods and takes at most 1"
}

// Deadlines need the desired pods, their statuses and the workers. The loop calls the Deadlines that it is
// configured with.
func ExampleNewDeadlines() {
	manager, statuses := podmanager.New(), status.New(status.Config{})
	observed, _ := pleg.New(pleg.Config{Runtime: memory.New(memory.Config{})})
	workers, _ := podworkers.New(podworkers.Config{Syncer: podworkerstest.NewSyncer(nil), Cache: observed})
	deadlines, err := syncloop.NewDeadlines(syncloop.DeadlinesConfig{Desired: manager, Workers: workers, Status: statuses})
	if err != nil {
		panic(err)
	}
	loop, err := syncloop.New(syncloop.Config{
		Handler: printer{manager}, Updates: &desire{}, Desired: manager, Changes: observed, Deadlines: deadlines,
	})
	if err != nil {
		panic(err)
	}
	web := podworkerstest.Pod("web")
	web.Spec.ActiveDeadlineSeconds = new(int64(0))
	manager.AddPod(web)
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: web})
	statuses.SetPodStatus(web, v1.PodStatus{Phase: v1.PodRunning}) // It has started.
	deadlines.RequestUpdate(web.UID)
	loop.Step(context.Background())
	fmt.Println("it has to end:", workers.View(web.UID).IsPodTerminationRequested())
	// Output: it has to end: true
}
