package source_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/validation"
)

func TestHandle_ReadyAtOnceAndBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		empty, filled := source.NewHandle(), source.NewHandle()
		require.NoError(t, filled.Apply(pod("a", "a", "v1")))
		require.NoError(t, filled.Apply(pod("b", "b", "v1")))
		filled.Delete("a")
		m := running(t, source.Config{Sources: map[string]source.Source{"api": empty, "host": filled}})
		assert.Equal(t, []string{"api ADD", "host ADD b"}, told(m.TakeAll(nil)))
		assert.True(t, m.AllSeen())
		assert.True(t, m.Complete("api"))
	})
}

// exchanged is a source that delivers the pods of a handle, and then pods of another owner.
type exchanged struct {
	handle *source.Handle
	others []*v1.Pod
}

func (e exchanged) Run(ctx context.Context, sink source.Sink) error {
	if err := e.handle.Run(ctx, sink); err != nil {
		return err
	}
	sink.Set(source.Snapshot{Pods: e.others})
	return nil
}

// That the Mux owns the pods of a handle does not mean that it owns later pods.
func TestHandle_OwnsNoPodsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		others := pod("b", "b", "v1")
		h := source.NewHandle()
		require.NoError(t, h.Apply(pod("a", "a", "v1")))
		m := running(t, source.Config{Sources: map[string]source.Source{"file": exchanged{h, []*v1.Pod{others}}}})
		assert.Equal(t, []string{"file ADD b"}, told(m.TakeAll(nil)))
		assert.Equal(t, pod("b", "b", "v1"), others)
	})
}

func TestHandle_SetDropReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := source.NewHandle()
		m := running(t, source.Config{Sources: map[string]source.Source{"api": h}})

		mine := pod("a", "a", "v1")
		require.NoError(t, h.Apply(mine))
		assert.Equal(t, []string{"api ADD a"}, told(m.TakeAll(nil)))
		mine.Spec.Containers[0].Image = "v2"
		assert.Nil(t, m.TakeAll(nil), "CF-8: the handle has a copy")
		require.NoError(t, h.Apply(mine))
		assert.Equal(t, []string{"api UPDATE a"}, told(m.TakeAll(nil)))
		h.Delete("nobody")
		h.Delete("a")
		require.NoError(t, h.Apply(mine))
		assert.Equal(t, []string{"api REMOVE a", "api ADD a"}, told(m.TakeAll(nil)), "F15: dropped and set is a new life")
		require.NoError(t, h.Replace([]*v1.Pod{pod("b", "b", "v1"), pod("c", "c", "v1")}))
		assert.Equal(t, []string{"api REMOVE a", "api ADD b c"}, told(m.TakeAll(nil)))
	})
}

// The pods of a handle get the defaults that an API server would set. A handle that owns its pods
// gets complete ones.
func TestHandle_PodsGetDefaults(t *testing.T) {
	given := func() *v1.Pod {
		p := pod("a", "a", "v1")
		p.Namespace = ""
		return p
	}
	want := given()
	validation.Default(want)
	want.Spec.NodeName = "edge-1"
	var got []*v1.Pod
	h := source.NewHandleWith(source.HandleConfig{NodeName: "edge-1"})
	require.NoError(t, h.Run(t.Context(), sinkFunc(func(s source.Snapshot) { got = s.Pods })))
	mine := given()
	require.NoError(t, h.Apply(mine))
	assert.Equal(t, []*v1.Pod{want}, got)
	assert.Equal(t, given(), mine, "the pod of the caller is not modified")
	require.NoError(t, h.Replace([]*v1.Pod{given()}))
	assert.Equal(t, []*v1.Pod{want}, got)
	named := given()
	named.Spec.NodeName = "another"
	require.NoError(t, h.Apply(named))
	assert.Equal(t, "another", got[0].Spec.NodeName)

	owned := source.NewHandleWith(source.HandleConfig{NodeName: "edge-1", Owned: true})
	require.NoError(t, owned.Run(t.Context(), sinkFunc(func(s source.Snapshot) { got = s.Pods })))
	require.NoError(t, owned.Apply(pod("a", "a", "v1")))
	assert.Equal(t, pod("a", "a", "v1").Spec, got[0].Spec)
}

func TestHandle_RefusesInvalidPods(t *testing.T) {
	h := source.NewHandle()
	require.NoError(t, h.Apply(pod("a", "a", "v1")))
	assert.ErrorIs(t, h.Apply(nil), source.ErrInvalid)
	assert.ErrorIs(t, h.Apply(pod("", "x", "v1")), source.ErrInvalid)
	assert.ErrorIs(t, h.Apply(pod("x", "", "v1")), source.ErrInvalid)
	unspaced := pod("b", "a", "v1")
	unspaced.Namespace = ""
	assert.EqualError(t, h.Apply(unspaced), `source: invalid pod: default/a is the name of another pod (uid "a")`)
	err := h.Replace([]*v1.Pod{nil, pod("b", "b", "v1"), pod("c", "b", "v1"), pod("b", "d", "v1")})
	require.ErrorIs(t, err, source.ErrInvalid)
	assert.EqualError(t, err, "source: invalid pod: nil\n"+
		"source: invalid pod: default/b (uid \"c\") has the UID or the name of an earlier pod\n"+
		"source: invalid pod: default/d (uid \"b\") has the UID or the name of an earlier pod")

	synctest.Test(t, func(t *testing.T) {
		m := running(t, source.Config{Sources: map[string]source.Source{"api": h}})
		assert.Equal(t, []string{"api ADD a"}, told(m.TakeAll(nil)), "a refused call changes nothing")
	})
}

// sinkFunc is a sink with an Apply function.
type sinkFunc func(source.Snapshot)

func (f sinkFunc) Set(s source.Snapshot) { f(s) }

// TestHandle_ChangeDuringAHandOver: a change during a delivery is delivered right after it, in
// order. The sink is never called concurrently.
func TestHandle_ChangeDuringAHandOver(t *testing.T) {
	h := source.NewHandle()
	var got []int
	busy := false
	require.NoError(t, h.Run(t.Context(), sinkFunc(func(s source.Snapshot) {
		assert.False(t, busy)
		busy = true
		if len(s.Pods) < 3 {
			id := fmt.Sprint("p", len(s.Pods))
			assert.NoError(t, h.Apply(pod(id, id, "v1")))
		}
		got = append(got, len(s.Pods))
		busy = false
	})))
	assert.Equal(t, []int{0, 1, 2, 3}, got)
}

// TestHandle_ConcurrentCallsLoseNothing: the last delivery includes every change.
func TestHandle_ConcurrentCallsLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := source.NewHandle()
		m := running(t, source.Config{Sources: map[string]source.Source{"api": h}})
		m.TakeAll(nil)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				id := fmt.Sprint("p", i)
				assert.NoError(t, h.Apply(pod(id, id, "v1")))
				if i%2 == 0 {
					h.Delete(pod(id, id, "").UID)
				}
			})
		}
		wg.Wait()
		has := map[string]bool{}
		for _, u := range m.TakeAll(nil) {
			for _, p := range u.Pods {
				has[p.Name] = u.Op != podmanager.REMOVE
			}
		}
		assert.Len(t, has, 25)
	})
}
