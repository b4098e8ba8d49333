package volumes_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
)

// gated are objects whose reads wait, whatever becomes of their context, with the value that
// there was when they began.
type gated struct {
	mu     sync.Mutex
	value  string
	asked  chan struct{}
	answer chan struct{} // nil: at once
}

func (g *gated) ConfigMap(context.Context, string, string) (*v1.ConfigMap, error) {
	g.mu.Lock()
	found, answer := &v1.ConfigMap{Data: map[string]string{"k": g.value}}, g.answer
	g.mu.Unlock()
	if answer != nil {
		g.asked <- struct{}{}
		<-answer
	}
	return found, nil
}

func (g *gated) Secret(context.Context, string, string) (*v1.Secret, error) {
	return nil, runtime.ErrNotFound
}

func (g *gated) set(value string, answer chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value, g.answer = value, answer
}

// refreshing is a directory with a pod whose volume c has a ConfigMap.
func refreshing(t *testing.T) (d *volumes.Dir, g *gated, pod *v1.Pod, read func() string) {
	root := t.TempDir()
	g = &gated{value: "1", asked: make(chan struct{})}
	d, err := volumes.New(volumes.Config{Root: root, Objects: g})
	require.NoError(t, err)
	pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Namespace: "ns", Name: "p"}, Spec: v1.PodSpec{Volumes: []v1.Volume{
		{Name: "c", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}}, {Name: "e"},
	}}}
	return d, g, pod, func() string {
		if _, err := os.Lstat(filepath.Join(root, "pods", "u")); err != nil {
			return "no directory"
		}
		data, err := os.ReadFile(filepath.Join(root, "pods", "u", "volumes", "c", "k"))
		require.NoError(t, err)
		return string(data)
	}
}

// late begins a call whose read of objects is answered when the result is called, with the
// value of its beginning.
func late(t *testing.T, g *gated, value string, call func() error) (answer func()) {
	open, done := make(chan struct{}), make(chan error, 1)
	g.set(value, open)
	go func() { done <- call() }()
	<-g.asked
	g.set(value, nil)
	return func() {
		close(open)
		require.NoError(t, <-done)
	}
}

// TestRefresh: the files that SetUp has made are brought up to date, and nothing else is made.
func TestRefresh(t *testing.T) {
	d, g, pod, read := refreshing(t)
	require.NoError(t, d.Refresh(t.Context(), pod))
	assert.Equal(t, "no directory", read())
	require.NoError(t, d.SetUp(t.Context(), pod))
	g.set("2", nil)
	require.NoError(t, d.Refresh(t.Context(), pod))
	assert.Equal(t, "2", read())

	g.set("3", nil)
	other := pod.DeepCopy()
	other.Name = "other"
	require.NoError(t, d.Refresh(t.Context(), other))
	assert.Equal(t, "2", read(), "a pod of another name has nothing here")
	more := pod.DeepCopy()
	more.Spec.Volumes[0].Name = "new"
	require.NoError(t, d.Refresh(t.Context(), more))
	assert.Equal(t, "2", read(), "no volume is made")

	require.NoError(t, d.TearDown(t.Context(), "u"))
	require.NoError(t, d.Refresh(t.Context(), pod))
	assert.Equal(t, "no directory", read())
}

// TestRefresh_LateReads: an older read never overwrites a newer one. Nothing is written for a pod that
// was torn down meanwhile, even if another pod has its UID.
func TestRefresh_LateReads(t *testing.T) {
	d, g, pod, read := refreshing(t)
	setUp := func() error { return d.SetUp(t.Context(), pod) }
	refresh := func() error { return d.Refresh(t.Context(), pod) }
	for _, first := range []func() error{setUp, refresh} {
		for _, then := range []func() error{setUp, refresh} {
			require.NoError(t, setUp())
			answer := late(t, g, "old", first)
			g.set("new", nil)
			require.NoError(t, then())
			answer()
			assert.Equal(t, "new", read())
		}
	}
	answer := late(t, g, "old", refresh)
	require.NoError(t, d.TearDown(t.Context(), "u"))
	answer()
	assert.Equal(t, "no directory", read())

	require.NoError(t, setUp())
	answer = late(t, g, "old", refresh)
	require.NoError(t, d.TearDown(t.Context(), "u"))
	g.set("new", nil)
	require.NoError(t, setUp())
	answer()
	assert.Equal(t, "new", read(), "of the next incarnation")
}

// TestRefresh_Concurrently: SetUps and TearDowns of a pod among refreshes leave nothing behind.
func TestRefresh_Concurrently(t *testing.T) {
	d, g, pod, read := refreshing(t)
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					assert.NoError(t, d.Refresh(t.Context(), pod))
				}
			}
		})
	}
	for i := range longtest.Count(20, 100) {
		g.set(string(rune('a'+i%26)), nil)
		require.NoError(t, d.SetUp(t.Context(), pod))
		require.NoError(t, d.TearDown(t.Context(), "u"))
		require.Equal(t, "no directory", read())
	}
	close(stop)
	all.Wait()
	assert.Equal(t, "no directory", read())
}
