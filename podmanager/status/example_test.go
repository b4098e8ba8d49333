package status_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/status"
)

var webPod = &v1.Pod{
	ObjectMeta: metav1.ObjectMeta{UID: "uid-1", Name: "web", Namespace: "default"},
	Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "server"}}},
}

// A Store keeps the newest status of each pod. A subscriber takes the newest statuses. The store calls its function
// once when there is something to take.
func ExampleNew() {
	store := status.New(status.Config{})
	changes := store.Subscribe(func() { fmt.Println("(something changed)") })
	defer changes.Close()

	store.SetPodStatus(webPod, v1.PodStatus{Phase: v1.PodPending})
	store.SetPodStatus(webPod, v1.PodStatus{Phase: v1.PodRunning})
	for _, u := range changes.TakeAll(nil) {
		fmt.Println(u.UID, u.Version, u.Status.Phase)
	}
	store.TerminatePod(webPod)
	for _, u := range changes.TakeAll(nil) {
		fmt.Println(u.UID, u.Version, u.Status.Phase)
	}
	// Output:
	// (something changed)
	// uid-1 2 Running
	// (something changed)
	// uid-1 3 Failed
}

// console is a Sink. The first status that it is sent ends the Example.
type console struct{ sent context.CancelFunc }

func (c console) Send(_ context.Context, u status.Update) error {
	fmt.Println(u.Pod.Name, u.Status.Phase, "version", u.Version)
	c.sent()
	return nil
}

// A Sender sends only the newest status of a pod.
func ExampleNewSender() {
	store := status.New(status.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: console{cancel}})
	if err != nil {
		fmt.Println(err)
		return
	}
	store.SetPodStatus(webPod, v1.PodStatus{Phase: v1.PodPending})
	store.SetPodStatus(webPod, v1.PodStatus{Phase: v1.PodRunning})
	fmt.Println(sender.Run(ctx))
	// Output:
	// web Running version 2
	// <nil>
}

// A Sink says why it could not send: here the destination has no time for any pod.
func ExampleUnavailable() {
	err := status.Unavailable(fmt.Errorf("too many requests"), 5*time.Second)
	fmt.Println(err)
	// Output: too many requests
}
