package recorder_test

import (
	"fmt"
	"time"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

// A recorder for a node.
func ExampleNew() {
	r, _ := recorder.New(recorder.Config{})
	_, err := node.New(node.Config{Hooks: node.Hooks{Timeline: r.Record}})
	fmt.Println(err, len(r.Timelines(time.Now())))
	// Output: <nil> 0
}
