package podsyncertest_test

import (
	"fmt"

	"github.com/podkeel/podkeel/podworkers/podsyncertest"
)

// The promises of the cases. Run is called from a test; see doc.go.
func ExampleCases() {
	for _, c := range podsyncertest.Cases()[:2] {
		fmt.Printf("%s: %s\n", c.Name, c.Promise)
	}
	// Output:
	// sync/starts: SyncPod, repeated, starts the container of a pod.
	// sync/again: SyncPod of a pod that runs according to its spec returns false and nil, and starts and stops nothing.
}
