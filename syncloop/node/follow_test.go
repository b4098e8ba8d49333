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

// follow begins a WatchFrom; it is called in a bubble.
func follow(t *testing.T, n *runningParts, version uint64, options node.ListOptions) *followed {
	f := &followed{last: version, since: version}
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel = cancel
	f.over.Go(func() {
		for e, err := range n.WatchFrom(ctx, version, options) {
			if err != nil {
				f.err = err
				continue
			}
			f.take(t, e)
		}
	})
	return f
}

func (f *followed) take(t *testing.T, e node.Event) {
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

// stop ends it, and returns what it has yielded.
func (f *followed) stop() []string {
	f.cancel()
	f.over.Wait()
	return f.events
}

// TestNode_WatchFromShowsALife: what follows a list is every change, up to the deletion with
// the last state; it can be taken up again in the middle.
func TestNode_WatchFromShowsALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := run(t, node.Config{})
		require.NoError(t, n.Apply(pod("here", "serve")))
		time.Sleep(5 * time.Second)
		_, version, err := n.List(node.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, n.Apply(stubborn("web")))
		time.Sleep(5 * time.Second)
		first := follow(t, n, version, node.ListOptions{})
		synctest.Wait()
		assert.Equal(t, []string{"ADDED web Running"}, first.stop(), "nobody has looked between")
		require.NoError(t, first.err)

		second := follow(t, n, first.last, node.ListOptions{})
		synctest.Wait()
		n.Delete("web")
		time.Sleep(time.Minute)
		events := second.stop()
		assert.Equal(t, "MODIFIED web Running Terminating", events[0])
		assert.Equal(t, "DELETED web Failed Terminating", events[len(events)-1])
		require.NoError(t, second.err)

		again := follow(t, n, first.last, node.ListOptions{})
		synctest.Wait()
		assert.Equal(t, second.events, again.stop(), "the same once more")
		require.NoError(t, n.stop())
	})
}

// TestNode_WatchFromZero: without a version it begins with what there is.
func TestNode_WatchFromZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := run(t, node.Config{})
		require.NoError(t, n.Apply(pod("b", "serve")))
		require.NoError(t, n.Apply(pod("a", "serve")))
		time.Sleep(5 * time.Second)
		all := follow(t, n, 0, node.ListOptions{})
		one := follow(t, n, 0, node.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "b")})
		synctest.Wait()
		n.Delete("a")
		time.Sleep(5 * time.Second)
		events := all.stop()
		assert.Equal(t, []string{"ADDED a Running", "ADDED b Running"}, events[:2])
		assert.Equal(t, "DELETED a Failed Terminating", events[len(events)-1])
		assert.Equal(t, []string{"ADDED b Running"}, one.stop())
		for range n.WatchFrom(t.Context(), 0, node.ListOptions{}) {
			break // The caller may end it at any event.
		}
		require.NoError(t, n.stop())
	})
}

// TestNode_WatchFromSelects: a pod is Added when it begins to match the selector, and Deleted when it
// no longer matches.
func TestNode_WatchFromSelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := run(t, node.Config{})
		watch := follow(t, n, 0, node.ListOptions{FieldSelector: fields.OneTermEqualSelector("status.phase", "Running")})
		synctest.Wait()
		job := job("job", "sleep", "3")
		require.NoError(t, n.Apply(job))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"ADDED job Running", "DELETED job Running"}, watch.stop())

		bad := follow(t, n, 0, node.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.color", "red")})
		synctest.Wait()
		require.ErrorIs(t, bad.err, node.ErrFieldSelector)
		assert.Empty(t, bad.stop())
		require.NoError(t, n.stop())
	})
}

// TestNode_WatchFromAnotherStart: the versions of a process mean nothing to the next one, and
// neither do those that have not been.
func TestNode_WatchFromAnotherStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		former := run(t, node.Config{Runtime: machine})
		require.NoError(t, former.Apply(pod("web", "serve")))
		time.Sleep(5 * time.Second)
		_, version, err := former.List(node.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, former.stop())
		time.Sleep(time.Millisecond)

		n := run(t, node.Config{Runtime: machine})
		require.NoError(t, n.Apply(pod("web", "serve")))
		time.Sleep(5 * time.Second)
		_, now, err := n.List(node.ListOptions{})
		require.NoError(t, err)
		assert.Greater(t, now, version)
		for _, wrong := range []uint64{version, now - 1, now + 1, 1, 1<<64 - 1} {
			watch := follow(t, n, wrong, node.ListOptions{})
			synctest.Wait()
			require.ErrorIs(t, watch.err, node.ErrExpired, wrong)
			assert.Empty(t, watch.stop())
		}
		require.NoError(t, n.stop())
	})
}
