package volumestest_test

import (
	"fmt"

	"github.com/podkeel/podkeel/podworkers/podsync/volumestest"
)

// Each case has its promise in words. Call Run in a test, see doc.go.
func ExampleCases() {
	for _, c := range volumestest.Cases()[:2] {
		fmt.Printf("%s: %s\n", c.Name, c.Promise)
	}
	// Output:
	// problems/none: A pod without volumes, and one with an emptyDir that it mounts, have no problems.
	// problems/no-such-volume: A mount of a volume that the pod does not have is a problem of a field of the spec, with a reason for people.
}
