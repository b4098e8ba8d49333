package grpccheck_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/grpccheck"
)

func ExampleNew() {
	c := grpccheck.New(grpccheck.Config{})
	_, _, err := c.Check(context.Background(), prober.Request{
		PodIP: "127.0.0.1", Handler: &v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 70000}},
	})
	fmt.Println(err)
	// Output: grpccheck: no such port: 70000
}
