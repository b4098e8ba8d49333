package merge_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// TestClaims_F97_OneSourceAtATime: for any changes of several sources with a few UIDs, the consumer
// gets each UID from one source at a time. The holder loses a UID only by removing it. A pod of any
// source is delivered or refused, and never lost.
func TestClaims_F97_OneSourceAtATime(t *testing.T) {
	names := []string{"api", "file", "http"}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var claims merge.Claims
		trackers := map[string]*merge.Tracker{}
		for _, n := range names {
			trackers[n] = &merge.Tracker{}
		}
		has, delivered := map[string]map[types.UID]string{}, map[types.UID]string{}
		for step := range 60 {
			changes := make([]merge.SourceChanges, 0, len(names))
			for _, n := range names {
				if rnd.IntN(2) == 0 {
					has[n] = map[types.UID]string{}
					var pods []*v1.Pod
					for i := range 3 {
						if rnd.IntN(2) == 0 {
							continue
						}
						p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(n, i, rnd.IntN(2)), UID: types.UID(fmt.Sprint("u", i)), Labels: map[string]string{"v": fmt.Sprint(step)}}}
						has[n][p.UID] = p.Name
						pods = append(pods, p)
					}
					trackers[n].Replace(pods, false, time.Time{})
				}
				changes = append(changes, merge.SourceChanges{Source: n, Changes: trackers[n].Consume().Changes(n)})
			}
			late, _ := claims.Filter(changes, nil, rnd.IntN(2) == 0, time.Time{})
			at := fmt.Sprint("seed ", seed, " step ", step)
			for _, c := range append(changes, late...) {
				for _, p := range c.Remove {
					require.Equal(t, c.Source, delivered[p.UID], at)
					delete(delivered, p.UID)
				}
				for _, p := range c.Add {
					require.Empty(t, delivered[p.UID], at)
					delivered[p.UID] = c.Source
				}
				for _, p := range append(c.Update, c.Reconcile...) {
					require.Equal(t, c.Source, delivered[p.UID], at)
				}
			}
			seen := map[string]map[types.UID]string{}
			for _, n := range names {
				seen[n] = map[types.UID]string{}
			}
			for uid, n := range delivered {
				require.Contains(t, has[n], uid, at)
				seen[n][uid] = has[n][uid]
			}
			for _, r := range claims.Refused() {
				require.NotEqual(t, r.Source, delivered[r.Pod.UID], at)
				seen[r.Source][r.Pod.UID] = r.Pod.Name
				require.Equal(t, delivered[r.Pod.UID], r.Other, at)
			}
			for _, n := range names {
				if has[n] != nil {
					require.Equal(t, has[n], seen[n], at)
				}
			}
		}
	}
}
