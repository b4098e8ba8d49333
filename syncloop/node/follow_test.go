package node_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// followed is what a WatchFrom has yielded, until stop.
type followed struct {
	events []string // without versions
	last   uint64
	err    error
	cancel context.CancelFunc
	over   sync.WaitGroup
	since  uint64
}

// startFollowing starts a WatchFrom. The caller is in a bubble.
func startFollowing(t *testing.T, n *runningParts, version uint64, options node.ListOptions) *followed {
	f := &followed{last: version, since: version}
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel = cancel
	f.over.Go(func() {
		for e, err := range n.WatchFrom(ctx, version, options) {
			if err != nil {
				f.err = err
				continue
			}
			f.recordEvent(t, e)
		}
	})
	return f
}

func (f *followed) recordEvent(t *testing.T, e node.Event) {
	if f.since > 0 {
		assert.Greater(t, e.Version, f.last, "versions rise")
		assert.Equal(t, fmt.Sprint(e.Version), e.Pod.ResourceVersion)
	}
	f.last = e.Version
	text := fmt.Sprintf("%s %s %s", e.Type, e.Pod.Name, e.Pod.Status.Phase)
	if e.Pod.DeletionTimestamp != nil {
		text += " Terminating"
	}
	f.events = append(f.events, text)
}

// stopFollowing stops the watch and returns its events.
func (f *followed) stopFollowing() []string {
	f.cancel()
	f.over.Wait()
	return f.events
}

// TestNode_WatchFromShowsALife: what follows a list is every change, up to the deletion with
// the last state; it can be taken up again in the middle.
func TestNode_WatchFromShowsALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		require.NoError(t, n.Apply(newPod("here", "serve")))
		time.Sleep(5 * time.Second)
		_, version, err := n.List(node.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, n.Apply(slowToStopPod("web")))
		time.Sleep(5 * time.Second)
		first := startFollowing(t, n, version, node.ListOptions{})
		synctest.Wait()
		assert.Equal(t, []string{"ADDED web Running"}, first.stopFollowing(), "nobody has looked between")
		require.NoError(t, first.err)

		second := startFollowing(t, n, first.last, node.ListOptions{})
		synctest.Wait()
		n.Delete("web")
		time.Sleep(time.Minute)
		events := second.stopFollowing()
		assert.Equal(t, "MODIFIED web Running Terminating", events[0])
		assert.Equal(t, "DELETED web Failed Terminating", events[len(events)-1])
		require.NoError(t, second.err)

		again := startFollowing(t, n, first.last, node.ListOptions{})
		synctest.Wait()
		assert.Equal(t, second.events, again.stopFollowing(), "the same once more")
		require.NoError(t, n.stopNode())
	})
}

// TestNode_WatchFromZero: without a version it begins with what there is.
func TestNode_WatchFromZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		require.NoError(t, n.Apply(newPod("b", "serve")))
		require.NoError(t, n.Apply(newPod("a", "serve")))
		time.Sleep(5 * time.Second)
		all := startFollowing(t, n, 0, node.ListOptions{})
		one := startFollowing(t, n, 0, node.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "b")})
		synctest.Wait()
		n.Delete("a")
		time.Sleep(5 * time.Second)
		events := all.stopFollowing()
		assert.Equal(t, []string{"ADDED a Running", "ADDED b Running"}, events[:2])
		assert.Equal(t, "DELETED a Failed Terminating", events[len(events)-1])
		assert.Equal(t, []string{"ADDED b Running"}, one.stopFollowing())
		for range n.WatchFrom(t.Context(), 0, node.ListOptions{}) {
			break // The caller may end it at any event.
		}
		require.NoError(t, n.stopNode())
	})
}

// TestNode_WatchFromSelects: a pod is Added when it begins to match the selector, and Deleted when it
// no longer matches.
func TestNode_WatchFromSelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		watch := startFollowing(t, n, 0, node.ListOptions{FieldSelector: fields.OneTermEqualSelector("status.phase", "Running")})
		synctest.Wait()
		job := jobPod("job", "sleep", "3")
		require.NoError(t, n.Apply(job))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"ADDED job Running", "DELETED job Running"}, watch.stopFollowing())

		bad := startFollowing(t, n, 0, node.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.color", "red")})
		synctest.Wait()
		require.ErrorIs(t, bad.err, node.ErrFieldSelector)
		assert.Empty(t, bad.stopFollowing())
		require.NoError(t, n.stopNode())
	})
}

// TestNode_WatchFromAnotherStart: the versions of a process mean nothing to the next one, and
// neither do those that have not been.
func TestNode_WatchFromAnotherStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		former := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, former.Apply(newPod("web", "serve")))
		time.Sleep(5 * time.Second)
		_, version, err := former.List(node.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, former.stopNode())
		time.Sleep(time.Millisecond)

		n := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(5 * time.Second)
		_, now, err := n.List(node.ListOptions{})
		require.NoError(t, err)
		assert.Greater(t, now, version)
		for _, wrong := range []uint64{version, now - 1, now + 1, 1, 1<<64 - 1} {
			watch := startFollowing(t, n, wrong, node.ListOptions{})
			synctest.Wait()
			require.ErrorIs(t, watch.err, node.ErrExpired, wrong)
			assert.Empty(t, watch.stopFollowing())
		}
		require.NoError(t, n.stopNode())
	})
}
