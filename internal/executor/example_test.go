package executor_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// runHeartbeat is a loop like the loops of production code: it has a clock and a context, and returns when its wait fails.
func runHeartbeat(ctx context.Context, clk clock.Clock) {
	seam := executor.Over(clk)
	for seam.Sleep(ctx, 8*time.Hour) == nil {
		fmt.Println(seam.Now().Format(time.TimeOnly), "beat")
	}
	fmt.Println(seam.Now().Format(time.TimeOnly), "stopped")
}

// A day in a simulation takes no time. A crash ends the loop like a cancellation.
func Example() {
	midnight := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	simulation := executor.NewScheduler(1, midnight)
	process := simulation.NewProcess()
	process.Go(func() { runHeartbeat(context.Background(), process.Clock()) })

	simulation.RunUntil(midnight.Add(20 * time.Hour))
	fmt.Println("running:", process.Running())
	process.Crash()
	fmt.Println("running:", process.Running())
	// Output:
	// 08:00:00 beat
	// 16:00:00 beat
	// running: 1
	// 20:00:00 stopped
	// running: 0
}

func ExampleNewScheduler() {
	for _, seed := range []uint64{0, 1, 0} {
		simulation := executor.NewScheduler(seed, time.Time{})
		process := simulation.NewProcess()
		for _, name := range []string{"a", "b", "c"} {
			process.Go(func() { fmt.Print(name) })
		}
		simulation.RunUntilIdle()
		fmt.Println(" in", simulation.Steps(), "steps")
	}
	// Output:
	// bca in 3 steps
	// cba in 3 steps
	// bca in 3 steps
}
