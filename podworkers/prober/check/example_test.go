package check_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/check"
	"github.com/podkeel/podkeel/runtime"
)

// commands runs commands in place of a runtime.
type commands struct{}

func (commands) Exec(context.Context, runtime.ExecRequest) (runtime.ExecResult, error) {
	return runtime.ExecResult{Output: []byte("fine")}, nil
}

// A runtime's commands are all that exec probes need.
func ExampleNew() {
	c := check.New(check.Config{Exec: commands{}})
	fmt.Println(c.Check(context.Background(), prober.Request{
		ContainerID: "memory://c1", Handler: &v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}},
	}))
	// Output: Passed fine <nil>
}
