package sourcetest_test

import (
	"fmt"

	"github.com/podkeel/podkeel/podmanager/source/sourcetest"
)

// The promises of a source.
func ExampleCases() {
	for _, c := range sourcetest.Cases()[:3] {
		fmt.Println(c.Name+":", c.Promise)
	}
	// Output:
	// run/first: Run delivers a first snapshot as soon as it has read its input, without a change.
	// run/empty: Run delivers an empty, complete snapshot if there is no pod.
	// run/ends: Run returns nil soon after its context has ended, or earlier.
}
