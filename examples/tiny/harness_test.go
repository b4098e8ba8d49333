package main

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

func TestCrashOfTheAgent(t *testing.T) {
	s := nodetest.New(t, nodetest.Config{})
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sleep", "90"}}}}}
	pod.Name = "job"
	s.Apply(pod)
	s.RunUntil(func() bool { return s.Status("job") == "1/1 Running restarts=1" })
	s.Crash() // The agent dies. Its containers go on.
	s.Start() // The next agent adopts them.
	s.Run(30 * time.Second)
	s.AssertStatus("job", "1/1 Running restarts=1")
	s.Stop()
	t.Log(s.Transcript())
}
