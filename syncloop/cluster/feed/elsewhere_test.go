package feed_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

// A server that selects nothing shows pods of other nodes. They are not handed over, and a pod
// that is one of another node now is gone, to a sink of single changes as in a snapshot.
func TestPods_OfAnotherNode(t *testing.T) {
	for _, single := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			events, sink := make(stream, 10), &node{t: t}
			pods, err := feed.NewPods(feed.PodsConfig{Feed: events, NodeName: "n1"})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				if single {
					ended <- pods.Run(ctx, sink)
				} else {
					ended <- pods.Run(ctx, snapshots{sink})
				}
			}()
			event := func(i, version int, on string) {
				pod := benchPod(i, version)
				pod.UID, pod.Spec.NodeName = types.UID(fmt.Sprintf("%036d", i)), on
				events <- apiserver.Event[*v1.Pod]{Type: apiserver.Modified, Object: pod, ResourceVersion: pod.ResourceVersion}
				synctest.Wait()
			}
			events <- apiserver.Event[*v1.Pod]{Type: apiserver.Bookmark, ResourceVersion: "1", InitialEventsEnd: true}
			event(1, 2, "n1")
			event(2, 3, "n2")
			event(3, 4, "n1")
			event(1, 5, "n2")
			event(1, 6, "n2")
			assert.Equal(t, "p3@4", show(sink.last))
			cancel()
			require.NoError(t, <-ended)
		})
	}
}
