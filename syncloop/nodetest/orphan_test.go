package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestOrphan_KC15_StopsAsItsPodAskedFor: a manifest that vanishes while the agent
// is down leaves a pod that nobody knows. Its records tell how it wanted to be
// stopped: its hooks, its sidecars last, and its own grace.
func TestOrphan_KC15_StopsAsItsPodAskedFor(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Set(define(t, `
metadata:
  name: web
  annotations:
    memory.podkeel.dev/web: "run=forever ignore-term"
    memory.podkeel.dev/web.pre-stop: "ok takes=4s"
spec:
  terminationGracePeriodSeconds: 15
  initContainers:
  - {name: mesh, image: mesh:1, restartPolicy: Always}
  containers:
  - name: web
    image: web:1
    lifecycle: {preStop: {exec: {command: [bye]}}}
`))
	b.Run(10 * time.Second)
	b.Crash()
	b.Drop("web")
	b.Run(5 * time.Second)
	b.Start()
	b.Run(time.Minute)
	b.Stop()
	_, after, _ := strings.Cut(b.Transcript(), "| 2/2 Running restarts=0\n")
	assert.Equal(t, `     15.1s  event Killing: Stopping container mesh: nobody wants the pod
     15.1s  event Killing: Stopping container web: nobody wants the pod
     19.1s  Hook pre-stop web
     30.1s  StopContainer mesh grace=2s
     30.1s  StopContainer web grace=11s
     30.1s  StopSandbox
     30.2s  RemoveSandbox
`, after)
}
