package feed_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

// A Follower keeps a collection as the server shows it.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	_, err := server.Admin().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	if err != nil {
		fmt.Println(err)
	}
	nodes, err := feed.New(feed.Config[*v1.Node]{
		Feed: server.Client("node-1").NodeFeed(), Changed: cancel,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(nodes.Run(ctx))
	node, ok := nodes.Get("", "node-1")
	fmt.Println(node.Name, ok)
	// Output:
	// <nil>
	// node-1 true
}

// printer is a source.Sink that ends the Example.
type printer struct{ end func() }

func (p printer) Set(s source.Snapshot) {
	for _, pod := range s.Pods {
		fmt.Println(pod.Namespace, pod.Name)
	}
	p.end()
}

// Pods is a source of pods; a source.Mux runs it.
func ExampleNewPods() {
	server := apiservertest.New(apiservertest.Config{})
	_, err := server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	pods, err := feed.NewPods(feed.PodsConfig{Feed: server.Client("node-1").PodFeed()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	fmt.Println(pods.Run(ctx, printer{cancel}))
	// Output:
	// default web
	// <nil>
}
