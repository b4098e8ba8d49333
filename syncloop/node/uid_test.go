package node_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/node"
)

// directoryStore is a store that can list its pods.
type directoryStore interface {
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
	Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error
}

// Every package that takes a UID, or makes names of it, has the same rule: what one lets
// in the next can keep, find again and remove.
func TestUID_OneRuleEverywhere(t *testing.T) {
	for _, uid := range []types.UID{
		"a", "0", "a.b", "a_b", "a-b", "A_._-", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "x.json", types.UID(strings.Repeat("u", podspec.MaxUIDLength)),
		".a", "..", "-a", "_a", "~a", "a~b", "a/b", `a\b`, "a b", "a:b", "a\n", "ü", types.UID(strings.Repeat("u", podspec.MaxUIDLength+1)),
	} {
		top := t.TempDir()
		p := withVolume(newPod("web", "serve"))
		p.UID = uid
		ref := runtime.PodRef{UID: uid, Name: "web", Namespace: "default"}

		n, err := node.New(node.Config{})
		require.NoError(t, err)
		dir, err := volumes.New(volumes.Config{Root: filepath.Join(top, "agent")})
		require.NoError(t, err)
		logs, err := logfiles.New(logfiles.Config{Root: filepath.Join(top, "logs")})
		require.NoError(t, err)
		ends, err := checkpoint.New(checkpoint.Config{Root: filepath.Join(top, "ended")})
		require.NoError(t, err)
		_, made := dir.TerminationLog(p, "c", 0)
		completed := p.DeepCopy()
		validation.Default(completed)
		for taker, err := range map[string]error{
			"Set": n.Apply(p), "a manifest": validation.Validate(completed).ToAggregate(), "SetUp of volumes": dir.SetUp(t.Context(), p), "TerminationLog": made,
			"SetUp of logs": logs.SetUp(ref), "checkpoint": ends.Save(p, &v1.PodStatus{Phase: v1.PodFailed}),
		} {
			assert.Equal(t, podspec.IsValidUID(uid), err == nil, "%s: %q: %v", taker, uid, err)
		}
		want := []types.UID{uid}
		if !podspec.IsValidUID(uid) {
			want = nil
		}
		all := func(types.UID) bool { return true }
		for store, s := range map[string]directoryStore{"volumes": dir, "logs": logs, "checkpoint": ends} {
			found, err := s.Pods(all, 10)
			require.NoError(t, err)
			assert.Equal(t, want, found, "%s: %q is found again", store, uid)
			require.NoError(t, s.Remove(t.Context(), uid, all))
			found, err = s.Pods(all, 10)
			require.NoError(t, err)
			assert.Empty(t, found, "%s: %q is removed", store, uid)
		}
	}
}
