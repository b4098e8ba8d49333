package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// BenchmarkSimulation simulates a node with 100 pods, each with an init container. Every fifth pod exits and is
// restarted every minute, and every fifth one crashes in a loop. The benchmark reports how many times faster than real
// time an hour passes.
func BenchmarkSimulation(b *testing.B) {
	const hour = time.Hour
	for b.Loop() {
		simulation := nodetest.New(b, nodetest.Config{Seed: 1})
		for i := range 100 {
			simulation.Apply(busyPod(i))
		}
		simulation.Run(hour)
		simulation.Stop()
	}
	b.ReportMetric(hour.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "x-real-time")
}

func busyPod(i int) *v1.Pod {
	commands := [][]string{{"serve"}, {"serve"}, {"serve"}, {"sleep", "60"}, {"sh", "-c", "sleep 5; exit 1"}}
	p := newPod(fmt.Sprintf("pod-%02d", i), commands[i%len(commands)])
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1", Command: []string{"sleep", "1"}}}
	return p
}

// BenchmarkHour is an hour of one pod that has a bit of everything:
// 2 init containers, 2 sidecars, 5 containers and 6 probes. One container ends
// and is started again every ten minutes.
func BenchmarkHour(b *testing.B) {
	const hour = time.Hour
	for b.Loop() {
		simulation := nodetest.New(b, nodetest.Config{Seed: 1})
		simulation.Apply(richPod())
		simulation.Run(hour)
		simulation.Stop()
	}
}

func richPod() *v1.Pod {
	p := newPod("rich", []string{"serve"}, []string{"serve"}, []string{"serve"}, []string{"serve"}, []string{"sleep", "600"})
	for i := range 4 {
		c := v1.Container{Name: fmt.Sprintf("i%d", i), Image: "init:1", Command: []string{"sleep", "1"}}
		if i%2 == 0 {
			c.Command, c.RestartPolicy = []string{"serve"}, new(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	p.Spec.InitContainers[0].StartupProbe = tcpProbe(1)
	for i := range 2 {
		p.Spec.Containers[i].LivenessProbe, p.Spec.Containers[i].ReadinessProbe = tcpProbe(10), tcpProbe(10)
	}
	p.Spec.Containers[2].ReadinessProbe = tcpProbe(10)
	return p
}
