package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
)

// A node whose metrics are in a registry of the program's own.
func ExampleNew() {
	m := metrics.New(metrics.Config{})
	config := node.Config{}
	m.Instrument(&config)
	n, err := node.New(config)
	if err != nil {
		panic(err)
	}
	m.Observe(n)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)

	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sleep", "1h"}}}}}
	pod.Name, pod.UID = "hello", "1"
	_ = n.Apply(pod) // An error would name the fault of the pod.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- n.Run(ctx) }()
	for state := range n.Watch(ctx) {
		if state.Pod.Status.Phase == v1.PodRunning {
			break
		}
	}
	cancel()
	<-ended
	families, _ := registry.Gather()
	for _, family := range families {
		if family.GetName() == "kubelet_started_containers_total" {
			fmt.Println(family.GetName(), family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output:
	// kubelet_started_containers_total 1
}

// The resource endpoint of a node, as a kubelet serves it to the metrics server.
func ExampleNewResources() {
	n, err := node.New(node.Config{})
	if err != nil {
		panic(err)
	}
	handler, err := metrics.ResourceHandler(metrics.NewResources(metrics.Config{}, n.Containers()))
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics/resource", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "resource_scrape_error") {
			fmt.Print(line)
		}
	}
	// Output:
	// resource_scrape_error 0
}

// Everything that a program with two nodes serves as /metrics.
func ExampleHandler() {
	handler, err := metrics.Handler(metrics.New(metrics.Config{Node: "a"}), metrics.New(metrics.Config{Node: "b"}))
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "kubelet_started_pods_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// kubelet_started_pods_total{node="a"} 0
	// kubelet_started_pods_total{node="b"} 0
}
