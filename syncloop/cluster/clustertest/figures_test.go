package clustertest_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

var figureNodes = flag.Int("figure-nodes", 10, "number of nodes of TestFigures_Nodes, with three pods each")

// TestFigures_Nodes, in a bubble: all pods of many nodes run for five minutes of virtual time. With -v the test logs what they cost:
//
//	go test -run TestFigures_Nodes -v . -figure-nodes 1000
func TestFigures_Nodes(t *testing.T) {
	began := time.Now()
	runInBubble(t, clustertest.Config{Nodes: *figureNodes}, nil, func(h *harness) {
		var pods []*podtest.PodBuilder
		for i := range 3 * *figureNodes {
			pods = append(pods, podtest.Pod(fmt.Sprint("pod-", i)).Container("c"))
		}
		h.createPods(pods...)
		time.Sleep(4 * time.Minute)
		running := 0
		for _, n := range h.nodes.All() {
			for _, pod := range h.server.Admin().Pods(n.Name()) {
				if pod.Status.Phase == v1.PodRunning && findCondition(pod, v1.PodReady).Status == v1.ConditionTrue {
					running++
				}
			}
		}
		assert.Equal(h, 3**figureNodes, running)
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		h.Logf("%d nodes, %d pods: %d MB from the system, %d goroutines", *figureNodes, running, memory.Sys>>20, runtime.NumGoroutine())
	})
	t.Logf("it took %s of real time", time.Since(began).Round(100*time.Millisecond))
}
