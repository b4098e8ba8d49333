package feed_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

// stream is a Feed whose only watch returns the events of the channel.
type stream chan apiserver.Event[*v1.Pod]

func (s stream) List(context.Context, string) (apiserver.List[*v1.Pod], error) { panic("not asked") }

func (s stream) Watch(context.Context, apiserver.WatchOptions) (apiserver.Stream[*v1.Pod], error) {
	return s, nil
}

func (s stream) Next(ctx context.Context) (apiserver.Event[*v1.Pod], error) {
	select {
	case e := <-s:
		return e, nil
	case <-ctx.Done():
		return apiserver.Event[*v1.Pod]{}, ctx.Err()
	}
}

func (s stream) Close() {}

func benchPod(i, version int) *v1.Pod {
	name := fmt.Sprint("p", i)
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version)}}
}

// BenchmarkPods is one change of a pod among others, from the watch until the consumer of a
// Mux has taken it.
func BenchmarkPods(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			events, woken := make(stream, 2*n), make(chan struct{}, 1)
			pods, err := feed.NewPods(feed.PodsConfig{Feed: events})
			require.NoError(b, err)
			mux, err := source.New(source.Config{Sources: map[string]source.Source{"api": pods}, Wake: func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			}})
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); _ = mux.Run(ctx) }()
			for i := range n {
				events <- apiserver.Event[*v1.Pod]{Type: apiserver.Added, Object: benchPod(i, 1)}
			}
			events <- apiserver.Event[*v1.Pod]{Type: apiserver.Bookmark, ResourceVersion: "1", InitialEventsEnd: true}
			<-woken
			mux.TakeAll(nil)
			b.ReportAllocs()
			for version := 2; b.Loop(); version++ {
				pod := benchPod(version%n, version)
				events <- apiserver.Event[*v1.Pod]{Type: apiserver.Modified, Object: pod, ResourceVersion: pod.ResourceVersion}
				<-woken
				mux.TakeAll(nil)
			}
			cancel()
			<-ended
		})
	}
}
