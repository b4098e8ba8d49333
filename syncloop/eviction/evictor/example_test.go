package evictor_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
)

// smallNode is a node with one pod and 5 % of its memory left.
type smallNode struct{}

func (smallNode) ReadSignals(context.Context) (eviction.Observations, error) {
	memory := eviction.Observation{Available: 5, Capacity: 100, Time: time.Now()}
	return eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{eviction.MemoryAvailable: memory}}, nil
}

func (smallNode) Pods() []evictor.Pod {
	return []evictor.Pod{{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid-of-web", Name: "web"}}}}
}

func (smallNode) ReadUsage(context.Context, *v1.Pod) (eviction.Usage, error) {
	bytes := uint64(300 << 20)
	return eviction.Usage{Measured: true, MemoryBytes: &bytes}, nil
}

func (smallNode) Evict(victim eviction.Victim) error {
	fmt.Println("evict", victim.UID)
	return nil
}

func (smallNode) Reclaim(context.Context, eviction.ReclaimKind) error { return nil }

// One pass of an evictor.
func ExampleNew() {
	thresholds, err := eviction.Settings{Hard: map[string]string{"memory.available": "10%"}}.Thresholds()
	if err != nil {
		panic(err)
	}
	e, err := evictor.New(evictor.Config{Policy: eviction.Policy{Thresholds: thresholds}, Signals: smallNode{}, Node: smallNode{}})
	if err != nil {
		panic(err)
	}
	e.Step(context.Background())
	fmt.Println(e.Pressure().Conditions)
	// Output:
	// evict uid-of-web
	// [MemoryPressure]
}
