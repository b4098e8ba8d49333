package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// BenchmarkBottle is a node with 100 pods, each with an init container, of
// which every fifth ends and is started again every minute and every fifth
// crashes in a loop. It reports how many times faster than the real world an
// hour of it passes.
func BenchmarkBottle(b *testing.B) {
	const hour = time.Hour
	for b.Loop() {
		bottle := nodetest.New(b, nodetest.Config{Seed: 1})
		for i := range 100 {
			bottle.Set(busyPod(i))
		}
		bottle.Run(hour)
		bottle.Stop()
	}
	b.ReportMetric(hour.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "x-real-time")
}

func busyPod(i int) *v1.Pod {
	commands := [][]string{{"serve"}, {"serve"}, {"serve"}, {"sleep", "60"}, {"sh", "-c", "sleep 5; exit 1"}}
	p := pod(fmt.Sprintf("pod-%02d", i), commands[i%len(commands)])
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1", Command: []string{"sleep", "1"}}}
	return p
}
