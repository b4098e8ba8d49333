package source_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
)

// changes is a ChangeSink that records its calls.
type changes struct {
	told []string
	then func() // after each call
}

func (c *changes) Set(s source.Snapshot) {
	text := "set"
	for _, p := range s.Pods {
		text += " " + p.Name
	}
	if s.Incomplete {
		text += " incomplete"
	}
	if s.Guarded {
		text += " guarded"
	}
	c.note(text)
}

func (c *changes) Apply(pod *v1.Pod)    { c.note("apply " + pod.Name) }
func (c *changes) Delete(uid types.UID) { c.note("delete " + string(uid)) }

func (c *changes) note(text string) {
	c.told = append(c.told, text)
	if then := c.then; then != nil {
		c.then = nil
		then()
	}
}

// TestHandle_SingleChanges: a sink that takes single changes gets a snapshot first, and after a
// Replace. It is not called if nothing has changed.
func TestHandle_SingleChanges(t *testing.T) {
	h := source.NewHandle()
	require.NoError(t, h.Apply(pod("a", "a", "v1")))
	sink := &changes{}
	require.NoError(t, h.Run(t.Context(), sink))
	require.NoError(t, h.Apply(pod("b", "b", "v1")))
	require.NoError(t, h.Apply(pod("a", "a", "v2")))
	require.Error(t, h.Apply(pod("c", "a", "v2")))
	h.Delete("nobody")
	h.Delete("a")
	require.NoError(t, h.Apply(pod("c", "a", "v2")), "the name is free")
	require.NoError(t, h.Apply(pod("c", "c", "v2")))
	require.NoError(t, h.Apply(pod("d", "a", "v2")), "and again")
	require.NoError(t, h.Replace([]*v1.Pod{pod("z", "z", "v1"), pod("b", "b", "v1")}))
	h.SetComplete()
	assert.Equal(t, []string{"set a", "apply b", "apply a", "delete a", "apply a", "apply c", "apply a", "set z b"}, sink.told)
}

// TestHandle_ChangesKeepTheirOrder: a change during a delivery is delivered after it, and a
// snapshot has all earlier changes.
func TestHandle_ChangesKeepTheirOrder(t *testing.T) {
	h := source.NewHandle()
	sink := &changes{then: func() {
		assert.NoError(t, h.Apply(pod("a", "a", "v1")))
		assert.NoError(t, h.Replace([]*v1.Pod{pod("b", "b", "v1")}))
		h.Delete("b")
		assert.NoError(t, h.Apply(pod("c", "c", "v1")))
	}}
	require.NoError(t, h.Run(t.Context(), sink))
	assert.Equal(t, []string{"set", "set c"}, sink.told, "nothing older comes back")
}

// TestHandle_I50_PanicOfTheSink: the panic reaches the caller, and the sink gets a whole snapshot
// with the next change, even if that came during the panic.
func TestHandle_I50_PanicOfTheSink(t *testing.T) {
	h := source.NewHandle()
	sink := &changes{}
	require.NoError(t, h.Run(t.Context(), sink))
	require.NoError(t, h.Apply(pod("a", "a", "v1")))
	sink.then = func() { panic("boom") }
	assert.PanicsWithValue(t, "boom", func() { _ = h.Apply(pod("b", "b", "v1")) })
	require.NoError(t, h.Apply(pod("c", "c", "v1")))
	h.Delete("a")
	assert.Equal(t, []string{"set", "apply a", "apply b", "set a b c", "delete a"}, sink.told)
}

// TestHandle_I47_CompleteBeforeRun: a handle that is incomplete stays so until SetComplete, which
// may be called before Run. SetComplete restores no older pods.
func TestHandle_I47_CompleteBeforeRun(t *testing.T) {
	h := source.NewHandleWith(source.HandleConfig{Incomplete: true, Guarded: true})
	require.NoError(t, h.Apply(pod("a", "a", "v1")))
	sink := &changes{}
	require.NoError(t, h.Run(t.Context(), sink))
	h.Delete("a")
	h.SetComplete()
	h.SetComplete()
	assert.Equal(t, []string{"set a incomplete guarded", "delete a", "set guarded"}, sink.told)

	h = source.NewHandleWith(source.HandleConfig{Incomplete: true})
	h.SetComplete()
	sink = &changes{}
	assert.Empty(t, sink.told, "it has not said that it wants nothing")
	require.NoError(t, h.Run(t.Context(), sink))
	assert.Equal(t, []string{"set"}, sink.told)
}

// TestMux_SingleChanges: the sink of a Mux takes single changes of any source, keeps the flags of
// the last snapshot, and wakes the consumer for each.
func TestMux_SingleChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, woken := &script{}, 0
		m := running(t, source.Config{Sources: map[string]source.Source{"host": s}, Wake: func() { woken++ }})
		sink := s.sink.(source.ChangeSink)
		sink.Apply(pod("x", "x", "v1"))
		sink.Delete("x")
		assert.Empty(t, m.TakeAll(nil), "before the first snapshot")
		assert.False(t, m.AllDelivered())

		sink.Set(source.Snapshot{Pods: []*v1.Pod{pod("a", "a", "v1")}, Incomplete: true, Guarded: true})
		rebuilt := pod("a", "a", "v1")
		rebuilt.Spec.Hostname = "other"
		sink.Apply(pod("b", "b", "v1"))
		assert.Equal(t, []string{"host ADD a b"}, told(m.TakeAll(nil)))
		woken = 0
		sink.Apply(rebuilt)
		sink.Delete("b")
		assert.Equal(t, 2, woken)
		assert.Equal(t, []string{"host REMOVE b", "host UPDATE a"}, told(m.TakeAll(nil)), "guarded")
		assert.False(t, m.Complete("host"))
	})
}

// TestHandle_Owned: a pod that the caller gives to the handle is not copied.
func TestHandle_Owned(t *testing.T) {
	h := source.NewHandleWith(source.HandleConfig{Owned: true})
	given, unspaced := pod("a", "a", "v1"), pod("b", "b", "v1")
	unspaced.Namespace = ""
	require.NoError(t, h.Replace([]*v1.Pod{given, unspaced}))
	require.NoError(t, h.Run(t.Context(), sinkFunc(func(s source.Snapshot) {
		assert.Same(t, given, s.Pods[0])
		assert.Same(t, unspaced, s.Pods[1])
		assert.Equal(t, "default", unspaced.Namespace)
	})))
}

// TestHandle_OneCopy: a Mux delivers the handle's own copy of a pod, with the annotations for
// source and first-seen time. The caller's pod is not modified.
func TestHandle_OneCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := source.NewHandle()
		m, err := source.New(source.Config{Sources: map[string]source.Source{"host": h}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = m.Run(ctx) }()
		synctest.Wait()
		mine := pod("a", "a", "v1")
		mine.Annotations = map[string]string{"k": "v"}
		before := mine.DeepCopy()
		require.NoError(t, h.Apply(mine))
		assert.Equal(t, before, mine)
		delivered := m.TakeAll(nil)[0].Pods[0]
		seen := time.Now().Format(time.RFC3339Nano)
		assert.Equal(t, map[string]string{"k": "v", "kubernetes.io/config.source": "host", "kubernetes.io/config.seen": seen}, delivered.Annotations)

		time.Sleep(time.Second)
		mine.Annotations["k"] = "w"
		require.NoError(t, h.Apply(mine))
		updated := m.TakeAll(nil)[0].Pods[0]
		assert.Equal(t, map[string]string{"k": "w", "kubernetes.io/config.source": "host", "kubernetes.io/config.seen": seen}, updated.Annotations)
		assert.Equal(t, "v", delivered.Annotations["k"], "what was delivered stays as it is")

		// A pod that already has these annotations may have been delivered, so it is copied again.
		require.NoError(t, h.Apply(updated))
		assert.Empty(t, m.TakeAll(nil), "nothing has changed")
		h.Delete("a")
		assert.Equal(t, updated, m.TakeAll(nil)[0].Pods[0])
	})
}
