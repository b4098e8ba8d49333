package verdict_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

// A readiness probe that needs two successes in a row, driven by hand.
func ExampleMake() {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

	c := verdict.Make(start)
	c.AddProbe(verdict.Readiness, verdict.FromProbe(&v1.Probe{InitialDelaySeconds: 5, SuccessThreshold: 2}), 0, start)
	c.Observe(verdict.Facts{ID: "containerd://a", Running: true, StartedAt: at(1)}, at(1), nil)

	for range 2 {
		due, _ := c.Due(verdict.Readiness)
		c.BeginAttempt(verdict.Readiness, due)
		changes := c.FinishAttempt(verdict.Readiness, c.Generation(), verdict.Success, due, nil)
		fmt.Println(due.Sub(start), changes, c.Ready("containerd://a"))
	}
	// Output:
	// 6s [] false
	// 16s [{Readiness containerd://a Success}] true
}
