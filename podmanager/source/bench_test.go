package source_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// BenchmarkTake is a change of one pod among many: the source delivers a snapshot, and the Mux
// finds the changed pod.
func BenchmarkTake(b *testing.B) {
	for _, n := range []int{110, 2500, 10000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			s := &script{}
			m, err := source.New(source.Config{Sources: map[string]source.Source{"file": s}})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			cancel()
			_ = m.Run(ctx) // The script hands out its sink and needs no more.
			versions := [2][]*v1.Pod{}
			for i := range n {
				id := fmt.Sprint("p", i)
				p := pod(id, id, "v1")
				versions[0], versions[1] = append(versions[0], p), append(versions[1], p)
			}
			versions[1][n/2] = pod(versions[1][n/2].Name, versions[1][n/2].Name, "v2")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.sink.Set(source.Snapshot{Pods: versions[i%2]})
				m.TakeAll(nil)
			}
		})
	}
}
