package sourcetest_test

import (
	"fmt"

	"github.com/podkeel/podkeel/podmanager/source/sourcetest"
)

// The promises that a source has to keep.
func ExampleCases() {
	for _, c := range sourcetest.Cases()[:3] {
		fmt.Println(c.Name+":", c.Promise)
	}
	// Output:
	// run/first: Run hands over a snapshot of what is there as soon as it knows it, without a change.
	// run/empty: Run hands over an empty, complete snapshot if there is no pod.
	// run/ends: Run returns nil, soon after its context has ended or before.
}
