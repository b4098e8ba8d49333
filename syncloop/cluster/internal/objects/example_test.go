package objects_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// What a kept pod names is followed.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := server.Admin().Create(ctx, &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "conf"}, Data: map[string]string{"color": "blue"},
	})
	if err != nil {
		fmt.Println(err)
	}
	pod, err := server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{
			Name: "c", Image: "web:1", EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}},
		}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	o, err := objects.New(objects.Config{Objects: server.Client("node-1").Objects()})
	if err != nil {
		fmt.Println(err)
		return
	}
	o.FollowReferences(pod)
	done := make(chan error)
	go func() { done <- o.Run(ctx) }()
	conf, err := o.ConfigMap(ctx, "default", "conf")
	fmt.Println(conf.Data["color"], err)
	cancel()
	fmt.Println(<-done)
	// Output:
	// blue <nil>
	// <nil>
}

// Services are for the variables of containers.
func ExampleNewServices() {
	server := apiservertest.New(apiservertest.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := server.Admin().Create(ctx, &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}, Spec: v1.ServiceSpec{ClusterIP: "10.0.0.1"},
	})
	if err != nil {
		fmt.Println(err)
	}
	services, err := objects.NewServices(objects.Config{Objects: server.Client("node-1").Objects()})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- services.Run(ctx) }()
	found, err := services.Services(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	fmt.Println(found[0].Name, found[0].Spec.ClusterIP, err)
	cancel()
	fmt.Println(<-done)
	// Output:
	// kubernetes 10.0.0.1 <nil>
	// <nil>
}

// RuntimeClasses say which handler of the runtime a pod is for.
func ExampleNewRuntimeClasses() {
	server := apiservertest.New(apiservertest.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := server.Admin().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "qemu"})
	if err != nil {
		fmt.Println(err)
	}
	seen := make(chan struct{}, 1)
	classes, err := objects.NewRuntimeClasses(objects.Config{Objects: server.Client("node-1").Objects()}, func() { seen <- struct{}{} })
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- classes.Run(ctx) }()
	<-seen
	fmt.Println(classes.Handler("kata"))
	fmt.Println(classes.Handler("other"))
	cancel()
	fmt.Println(<-done)
	// Output:
	// qemu true
	//  false
	// <nil>
}
