package workqueuetest_test

import (
	"fmt"

	"github.com/podkeel/podkeel/workqueue/workqueuetest"
)

// What is checked.
func ExampleCases() {
	for _, c := range workqueuetest.Cases()[:3] {
		fmt.Println(c.Name+":", c.Promise)
	}
	// Output:
	// empty: An empty queue has no work, no next time and no time of any pod; Remove does nothing.
	// due/not-after-now: A pod is due exactly at its time, and not a nanosecond earlier.
	// due/past: A pod whose time is long past is due.
}
