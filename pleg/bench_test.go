package pleg_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

// instant is a runtime whose answers cost nothing: what is measured is ours.
// Each listing is another slice with other strings, as a runtime returns that
// decodes a reply, or the same one, as one returns that keeps it.
type instant struct {
	lists [2][]runtime.Pod
	calls int
}

func newInstant(n int, fresh bool) *instant {
	r := &instant{}
	for i := range r.lists {
		r.lists[i] = listing(n)
	}
	if !fresh {
		r.lists[1] = r.lists[0]
	}
	return r
}

func listing(n int) []runtime.Pod {
	pods := make([]runtime.Pod, n)
	for i := range pods {
		id := fmt.Sprintf("%064d", i)
		pods[i] = runtime.Pod{
			UID: types.UID(fmt.Sprintf("11111111-2222-3333-4444-%012d", i)), Name: "pod", Namespace: "default",
			Sandboxes: []runtime.Sandbox{{ID: "s" + id, Ready: true}},
			Containers: []runtime.Container{
				{ID: "a" + id, Name: "app", SandboxID: "s" + id, State: runtime.StateRunning},
				{ID: "b" + id, Name: "sidecar", SandboxID: "s" + id, State: runtime.StateRunning},
			},
		}
	}
	return pods
}

func (r *instant) ListPods(context.Context) ([]runtime.Pod, error) {
	r.calls++
	return r.lists[r.calls%2], nil
}

func (r *instant) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status := &runtime.PodStatus{UID: uid}
	for _, p := range r.lists[0] {
		if p.UID != uid {
			continue
		}
		for _, s := range p.Sandboxes {
			status.Sandboxes = append(status.Sandboxes, runtime.SandboxStatus{Sandbox: s})
		}
		for _, c := range p.Containers {
			status.Containers = append(status.Containers, runtime.ContainerStatus{Container: c})
		}
	}
	return status, nil
}

// BenchmarkRelistUnchanged is one relist of a node on which nothing happens.
// "kept" and "decoded" say whether the strings of two listings share memory.
func BenchmarkRelistUnchanged(b *testing.B) {
	for _, n := range []int{110, 2500, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { relistUnchanged(b, newInstant(n, false)) })
	}
	for _, n := range []int{110, 2500, 10000} {
		b.Run(fmt.Sprintf("decoded/n=%d", n), func(b *testing.B) { relistUnchanged(b, newInstant(n, true)) })
	}
}

func relistUnchanged(b *testing.B, rt *instant) {
	p, err := pleg.New(pleg.Config{Runtime: rt})
	require.NoError(b, err)
	ctx := context.Background()
	require.NoError(b, p.Relist(ctx)) // The first one inspects every pod.
	require.NoError(b, p.Relist(ctx))
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Relist(ctx); err != nil {
			b.Fatal(err)
		}
	}
	require.Len(b, p.Pods(), len(rt.lists[0]))
}
