package node

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestFeed_IsThereWhileSomebodyAsks: a node on which List was never called has no feed, and a feed is
// cleared five minutes after the last call. Versions continue to increase.
func TestFeed_IsThereWhileSomebodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := New(Config{})
		require.NoError(t, err)
		assert.Nil(t, n.feed.cache)
		_, before, err := n.List(ListOptions{})
		require.NoError(t, err)
		time.Sleep(feedIdle - 1)
		n.feed.clearIfIdle(n.view)
		assert.NotNil(t, n.feed.cache)
		time.Sleep(1)
		n.feed.clearIfIdle(n.view)
		assert.Nil(t, n.feed.cache)
		assert.Empty(t, n.view.mu.watchers)
		n.feed.clearIfIdle(n.view)

		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range n.WatchFrom(ctx, 0, ListOptions{}) {
				continue
			}
		}()
		synctest.Wait()
		assert.Greater(t, n.feed.cache.Version(), before)
		time.Sleep(2 * feedIdle)
		n.feed.clearIfIdle(n.view)
		assert.NotNil(t, n.feed.cache, "somebody watches")
		cancel()
		synctest.Wait()
		n.feed.clearIfIdle(n.view)
		assert.NotNil(t, n.feed.cache, "and may come back")
		time.Sleep(feedIdle)
		n.feed.clearIfIdle(n.view)
		assert.Nil(t, n.feed.cache)
	})
}

// TestFeed_ASlowReaderExpires: a reader that is too many changes behind gets ErrExpired.
func TestFeed_ASlowReaderExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := New(Config{})
		require.NoError(t, err)
		_, version, err := n.List(ListOptions{})
		require.NoError(t, err)
		for i := range WatchHistory + 1 {
			pod := &v1.Pod{}
			pod.Name, pod.UID = fmt.Sprint(i), types.UID(fmt.Sprint(i))
			n.feed.cache.Set(pod)
		}
		for _, err := range n.WatchFrom(t.Context(), version, ListOptions{}) {
			require.ErrorIs(t, err, ErrExpired)
		}
		for e, err := range n.WatchFrom(t.Context(), version+1, ListOptions{}) {
			require.NoError(t, err)
			assert.Equal(t, version+2, e.Version)
			break
		}
	})
}
