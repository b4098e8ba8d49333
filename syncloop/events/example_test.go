package events_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/events"
)

// Equal events are one event at the server. Pending events are written when the context is cancelled.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	recorder, err := events.New(events.Config{Events: server.Client("node-1").Events(), Host: "node-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	recorder.Event(pod, v1.EventTypeNormal, "Started", "Container started")
	recorder.Event(pod, v1.EventTypeNormal, "Started", "Container started")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(recorder.Run(ctx))
	for _, e := range server.Admin().Events() {
		fmt.Println(e.InvolvedObject.Name, e.Reason, e.Count)
	}
	// Output:
	// <nil>
	// web Started 2
}
