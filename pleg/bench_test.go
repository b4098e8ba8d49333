package pleg_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

// still is a runtime without changes that answers at once.
type still struct {
	pods  [2][]runtime.Pod
	calls int
}

func (s *still) ListPods(context.Context) ([]runtime.Pod, error) {
	s.calls++
	return s.pods[s.calls%2], nil
}

func (s *still) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	i := slices.IndexFunc(s.pods[0], func(p runtime.Pod) bool { return p.UID == uid })
	status := &runtime.PodStatus{UID: uid}
	for _, sb := range s.pods[0][i].Sandboxes {
		status.Sandboxes = append(status.Sandboxes, runtime.SandboxStatus{Sandbox: sb})
	}
	for _, c := range s.pods[0][i].Containers {
		status.Containers = append(status.Containers, runtime.ContainerStatus{Container: c})
	}
	return status, nil
}

// newStill returns a runtime with n pods, each with a sandbox and one or two containers, in two listings. If decoded is
// false, the listings share strings, as in a runtime that stores its records. If it is true, they share nothing, as in
// a runtime that decodes a reply each time.
func newStill(n int, decoded bool) *still {
	s := &still{}
	for i := range n {
		p := runtime.Pod{
			UID:       types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)),
			Sandboxes: []runtime.Sandbox{{ID: fmt.Sprintf("%064x", i), Ready: true}},
		}
		for j := range 1 + i%2 {
			p.Containers = append(p.Containers, runtime.Container{ID: fmt.Sprintf("%062x%02x", i, j+1), State: runtime.StateRunning})
		}
		s.pods[0] = append(s.pods[0], p)
		p.Sandboxes, p.Containers = slices.Clone(p.Sandboxes), slices.Clone(p.Containers)
		if decoded {
			cloneStrings(&p)
		}
		s.pods[1] = append(s.pods[1], p)
	}
	return s
}

// cloneStrings gives a pod its own copies of all strings.
func cloneStrings(p *runtime.Pod) {
	p.UID = types.UID(strings.Clone(string(p.UID)))
	for i := range p.Sandboxes {
		p.Sandboxes[i].ID = strings.Clone(p.Sandboxes[i].ID)
	}
	for i := range p.Containers {
		p.Containers[i].ID = strings.Clone(p.Containers[i].ID)
	}
}

// BenchmarkRelistUnchanged is the cost of a listing on an idle node.
func BenchmarkRelistUnchanged(b *testing.B) {
	for _, n := range []int{110, 2500, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { relistUnchanged(b, newStill(n, false)) })
	}
	for _, n := range []int{110, 2500, 10000} {
		b.Run(fmt.Sprintf("decoded/n=%d", n), func(b *testing.B) { relistUnchanged(b, newStill(n, true)) })
	}
}

func relistUnchanged(b *testing.B, s *still) {
	p, err := pleg.New(pleg.Config{Runtime: s})
	require.NoError(b, err)
	require.NoError(b, p.Relist(b.Context()))
	b.ReportAllocs()
	for b.Loop() {
		_ = p.Relist(b.Context())
	}
	require.Len(b, p.Pods(), len(s.pods[0]))
}

// BenchmarkNewerThan is a reader whose observation already exists.
func BenchmarkNewerThan(b *testing.B) {
	s := newStill(2500, false)
	p, err := pleg.New(pleg.Config{Runtime: s})
	require.NoError(b, err)
	require.NoError(b, p.Relist(b.Context()))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.NewerThan(b.Context(), s.pods[0][7].UID, 0)
	}
}

// I49: a listing without changes allocates the same few objects (for its deadline) for any number
// of pods. A reader whose observation already exists allocates nothing.
func TestRelist_I49_NoAllocationPerPod(t *testing.T) {
	allocs := func(n int) float64 {
		p, err := pleg.New(pleg.Config{Runtime: newStill(n, false)})
		require.NoError(t, err)
		ctx := context.Background()
		require.NoError(t, p.Relist(ctx))
		return testing.AllocsPerRun(100, func() { _ = p.Relist(ctx) })
	}
	few := allocs(1)
	assert.LessOrEqual(t, few, 8.0)
	assert.Equal(t, few, allocs(1000))
}
