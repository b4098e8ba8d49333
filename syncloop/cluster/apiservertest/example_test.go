package apiservertest_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// A pod is bound to a node, which reports its status.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	pod, err := server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "web", Image: "web:1"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := server.Client("node-1")
	ref := apiserver.PodRef{Namespace: "default", Name: "web", UID: pod.UID}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"phase":"Running"}}`, pod.UID)
	if _, err := client.Pods().PatchStatus(context.Background(), ref, []byte(patch)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(server.Admin().Pod("default", "web").Status.Phase)
	for _, request := range server.Requests() {
		fmt.Println(request)
	}
	// Output:
	// Running
	// patch pods/status default/web metadata.uid status.phase
}

// The answer of a registration gets lost.
func ExampleServer_Inject() {
	server := apiservertest.New(apiservertest.Config{})
	server.Inject(apiservertest.Fault{Verb: "create", Resource: "nodes", Times: 1, Lost: true})
	client := server.Client("node-1")
	for range 2 {
		_, err := client.Nodes().Create(context.Background(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
		fmt.Println(err)
	}
	// Output:
	// read tcp: read: connection reset by peer
	// nodes "node-1" already exists
}

// The promises that an implementation of apiserver.Server has to keep.
func ExampleCases() {
	for _, c := range apiservertest.Cases()[:2] {
		fmt.Println(c.Name+":", c.Promise)
	}
	// Output:
	// list/pods: List returns the pods of the node and no others, and a resource version.
	// list/versions: List takes an empty resource version, 0, and any that was seen; one that is in the future is refused.
}
