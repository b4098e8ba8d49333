package node

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// says is a source that says nothing by itself, and what is heard of it.
type says struct{ heard []string }

func (*says) Run(context.Context, source.Sink) error { return nil }

func (s *says) Set(snapshot source.Snapshot) {
	text := "complete:"
	if snapshot.Incomplete {
		text = "incomplete:"
	}
	for _, pod := range snapshot.Pods {
		text += " " + pod.Name
	}
	s.heard = append(s.heard, text)
}

func snapshot(names ...string) (s source.Snapshot) {
	for _, name := range names {
		p := &v1.Pod{}
		p.Name = name
		s.Pods = append(s.Pods, p)
	}
	return s
}

// TestHeld_I47_ReleasedBeforeItWasHeard: a host that has said that it is
// complete has not said that it wants nothing.
func TestHeld_I47_ReleasedBeforeItWasHeard(t *testing.T) {
	sourceName := &says{}
	h := hold(sourceName, false, false)
	h.release()
	require.NoError(t, h.Run(t.Context(), sourceName))
	h.release()
	assert.Empty(t, sourceName.heard)
	h.Set(snapshot("a"))
	assert.Equal(t, []string{"complete: a"}, sourceName.heard)

	sourceName = &says{}
	h = hold(sourceName, false, false)
	require.NoError(t, h.Run(t.Context(), sourceName))
	h.release()
	assert.Empty(t, sourceName.heard, "released between the sink and the first snapshot")
}

// sinkFunc is a sink that is its Apply.
type sinkFunc func(source.Snapshot)

func (f sinkFunc) Set(s source.Snapshot) { f(s) }

// TestHeld_TheNewestSnapshotIsTheLast, whatever happens while one is handed
// over.
func TestHeld_TheNewestSnapshotIsTheLast(t *testing.T) {
	sourceName := &says{}
	h := hold(sourceName, false, false)
	require.NoError(t, h.Run(t.Context(), sinkFunc(func(s source.Snapshot) {
		if len(sourceName.heard) == 0 {
			h.Set(snapshot("a", "b"))
			h.release()
			h.release()
		}
		sourceName.Set(s)
	})))
	h.Set(snapshot("a"))
	assert.Equal(t, []string{"complete: a b"}, sourceName.heard[1:], "in order, and the two changes at once")
}
