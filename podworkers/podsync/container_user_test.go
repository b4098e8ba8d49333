package podsync_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// TestSyncPod_CS16_OrderOfGroups: a runtime that reports the groups in another order each time changes the status of its
// containers once. The next agent, to which the API server shows the status, does not change it either.
func TestSyncPod_CS16_OrderOfGroups(t *testing.T) {
	rt := &reversing{Runtime: memory.New(memory.Config{})}
	syncer, st := newQuietSyncer(t, rt)
	security := &v1.PodSecurityContext{RunAsUser: new(int64(1)), RunAsGroup: new(int64(2)), SupplementalGroups: []int64{4, 3}, FSGroup: new(int64(5))}
	pod := plainPod(func(p *v1.Pod) { p.Spec.SecurityContext = security })
	var users []*v1.ContainerUser
	syncAndCollect := func(status *runtime.PodStatus) {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, pod, nil, status)
		require.NoError(t, err)
		published, _ := st.GetPodStatus(pod.UID)
		users = append(users, published.ContainerStatuses[0].User)
	}
	syncAndCollect(nil)
	for range 3 {
		syncAndCollect(readPodStatus(t, rt))
	}
	pod.Status, _ = st.GetPodStatus(pod.UID)
	syncer, st = newQuietSyncer(t, rt)
	for range 3 {
		syncAndCollect(readPodStatus(t, rt))
	}
	require.NotNil(t, users[1])
	first := users[1]
	assert.ElementsMatch(t, []int64{2, 3, 4, 5}, first.Linux.SupplementalGroups)
	for _, user := range users[2:] {
		assert.Equal(t, first, user)
	}
	assert.Equal(t, 6, rt.calls)
}

// reversing is a runtime that reverses the groups of each container at each second call.
type reversing struct {
	runtime.Runtime
	calls int
}

func (r *reversing) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	r.calls++
	status, err := r.Runtime.PodStatus(ctx, uid)
	if err != nil || r.calls%2 == 0 {
		return status, err
	}
	reversed := *status
	reversed.Containers = slices.Clone(status.Containers)
	for i := range reversed.Containers {
		user := *reversed.Containers[i].User
		user.SupplementalGroups = slices.Clone(user.SupplementalGroups)
		slices.Reverse(user.SupplementalGroups)
		reversed.Containers[i].User = &user
	}
	return &reversed, nil
}
