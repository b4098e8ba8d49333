package evictor_test

import (
	"context"
	"fmt"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
)

// One pass of an evictor: the node has 5 % of its memory left.
func ExampleNew() {
	node := &fakeNode{
		pods:      []evictor.Pod{newPod("web", "")},
		memory:    map[string]uint64{"web": 300 << 20},
		available: map[eviction.Signal]int64{eviction.MemoryAvailable: 5},
	}
	thresholds, err := eviction.Settings{Hard: map[string]string{"memory.available": "10%"}}.Thresholds()
	if err != nil {
		panic(err)
	}
	e, err := evictor.New(evictor.Config{Policy: eviction.Policy{Thresholds: thresholds}, Signals: node, Node: node})
	if err != nil {
		panic(err)
	}
	e.Step(context.Background())
	fmt.Println(node.take())
	fmt.Println(e.Pressure().Conditions)
	// Output:
	// usage web; evict web
	// [MemoryPressure]
}
