package statussink_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
)

// A Sender sends the stored statuses to the API server.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	pod, err := server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	sink, err := statussink.New(statussink.Config{
		Pods: server.Client("node-1").Pods(), StatusWritten: func(*v1.Pod) { cancel() },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := status.New(status.Config{})
	sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: sink})
	if err != nil {
		fmt.Println(err)
		return
	}
	sink.SetResend(sender.Resend, sender.ResendNow)
	store.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	fmt.Println(sender.Run(ctx), server.Admin().Pod("default", "web").Status.Phase)
	// Output: <nil> Running
}
