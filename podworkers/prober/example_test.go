package prober_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

// answers is a Checker that finds everything well.
type answers struct{}

func (answers) Check(_ context.Context, req prober.Request) (prober.CheckResult, string, error) {
	return prober.Passed, "asked " + req.Container + " at " + req.PodIP, nil
}

// A program that has its own loop takes single steps; others call Run.
func ExampleNew() {
	p, err := prober.New(prober.Config{
		Check:  answers{},
		Result: func(r prober.Result) { fmt.Println(r.Container, r.Kind, r.Success, r.Message) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "web"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "nginx", ReadinessProbe: &v1.Probe{}}}},
	}
	p.AddPod(pod)
	p.Observe(pod.UID, prober.Observed{PodIP: "10.0.0.1", Containers: []prober.Container{
		{Name: "nginx", ID: "memory://c1", Running: true, StartedAt: time.Now().Add(time.Second)},
	}})
	fmt.Println(p.Step(context.Background()))
	fmt.Println(p.Verdict(pod.UID, "memory://c1", verdict.Readiness))
	p.RemovePod(pod.UID)
	// Output:
	// nginx Readiness true asked nginx at 10.0.0.1
	// <nil>
	// Success
}
