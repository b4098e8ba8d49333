package cri_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// If the runtime has no figures of a sandbox, only these figures are missing. The
// figures of its containers and of other pods are present (SM-5).
func TestPodStats_SM5_OneSandboxSpoilsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		running(t, r, runtime.PodRef{UID: "well", Name: "well", Namespace: "default"})
		sick, _ := running(t, r, runtime.PodRef{UID: "sick", Name: "sick", Namespace: "default"})
		s.onInstead(func(_ context.Context, _ string, req any) (any, error) {
			if asked, ok := req.(*criv1.PodSandboxStatsRequest); ok && asked.PodSandboxId == sick {
				return nil, status.Error(codes.Unknown, "no parent cgroup")
			}
			return nil, nil
		})
		well, err := r.PodStats(t.Context(), "well")
		require.NoError(t, err)
		assert.Len(t, well.Containers, 1)
		require.NotNil(t, well.Network)
		assert.Equal(t, "eth0", well.Network.Interfaces[0].Name)
		assert.Nil(t, well.Containers[0].Memory.AvailableBytes, "zero says that there is no limit")
		assert.Nil(t, well.Containers[0].CPU.UsageNanoCores)
		pod, err := r.PodStats(t.Context(), "sick")
		require.NoError(t, err)
		assert.Len(t, pod.Containers, 1)
		assert.Nil(t, pod.Network)
		none, err := r.PodStats(t.Context(), "unknown")
		require.NoError(t, err)
		assert.Zero(t, none)
	})
}

// ND-28: the ranges go to the runtime as they are.
func TestUpdatePodCIDR_ND28(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		var told string
		s.onInstead(func(_ context.Context, _ string, req any) (any, error) {
			if update, ok := req.(*criv1.UpdateRuntimeConfigRequest); ok {
				told = update.GetRuntimeConfig().GetNetworkConfig().GetPodCidr()
				return &criv1.UpdateRuntimeConfigResponse{}, nil
			}
			return nil, nil
		})
		require.NoError(t, r.UpdatePodCIDR(t.Context(), "10.1.0.0/24,2001:db8::/64"))
		assert.Equal(t, "10.1.0.0/24,2001:db8::/64", told)
	})
}
