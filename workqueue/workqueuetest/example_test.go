package workqueuetest_test

import (
	"fmt"

	"github.com/podkeel/podkeel/workqueue/workqueuetest"
)

// The promises of the first cases.
func ExampleCases() {
	for _, c := range workqueuetest.Cases()[:3] {
		fmt.Println(c.Name+":", c.Promise)
	}
	// Output:
	// empty: In an empty queue GetWork returns no pod, Next and Due return false, and Remove does nothing.
	// due/not-after-now: A pod is due exactly at its time, and not a nanosecond earlier.
	// due/past: A pod whose time is in the past is due.
}
