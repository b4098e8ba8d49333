package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// A job of three seconds, watched for a minute, takes no time at all.
func ExampleNew() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{Seed: 1})
	job := pod("job", []string{"sleep", "3"})
	job.Spec.RestartPolicy = "Never"
	b.Set(job)
	b.Run(time.Minute)
	b.Stop()
	fmt.Print(b.Transcript())
	// Output:
	// pod default/job
	//         0s  RunSandbox attempt=0
	//         0s  event Pulling: Pulling image "job:1"
	//         0s  PullImage job:1
	//         0s  event Pulled: Successfully pulled image "job:1" in 0s (0s including waiting). Image size: 1048576 bytes.
	//         0s  CreateContainer c0 attempt=0
	//         0s  event Created: Container c0 created
	//         0s  StartContainer c0
	//         0s  event Started: Container c0 started
	//         0s  | 1/1 Running restarts=0
	//         3s  StopSandbox
	//         3s  | 0/1 Completed restarts=0
}
