package podtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// A container fails after 90 s, and is ready 30 s after its start.
func ExamplePod() {
	var t testing.B // In a test: its *testing.T, or GinkgoTB().
	s := nodetest.New(&t, nodetest.Config{})
	defer s.Stop()
	s.Apply(podtest.Pod("web").
		Container("c", podtest.Runs(90*time.Second), podtest.Exits(1)).
		Probe(podtest.Readiness, podtest.FailsFor(30*time.Second)).
		Build(&t))
	for range 4 {
		s.Run(29 * time.Second)
		fmt.Println(s.Now().Sub(nodetest.Epoch), s.Status("web"))
	}
	// Output:
	// 29s 0/1 Running restarts=0
	// 58s 1/1 Running restarts=0
	// 1m27s 1/1 Running restarts=0
	// 1m56s 0/1 Running restarts=1
}

// The container of a manifest gets a script.
func ExampleFromYAML() {
	var t testing.B // In a test: its *testing.T, or GinkgoTB().
	s := nodetest.New(&t, nodetest.Config{})
	defer s.Stop()
	s.Apply(podtest.FromYAML(`
apiVersion: v1
kind: Pod
metadata: {name: job}
spec:
  restartPolicy: Never
  containers:
  - {name: work, image: work:1}
`).Container("work", podtest.Runs(time.Minute), podtest.IsOOMKilled()).Build(&t))
	s.Run(time.Hour)
	fmt.Println(s.Pod("job").Status.Phase, s.Status("job"))
	// Output: Failed 0/1 OOMKilled restarts=0
}
