package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// ranged is a runtime that accepts pod CIDRs.
type ranged struct {
	*memory.Runtime
	told []string
	err  error
}

func (r *ranged) Features() runtime.Features {
	f := r.Runtime.Features()
	f.PodCIDRUpdater = r
	return f
}

func (r *ranged) UpdatePodCIDR(_ context.Context, cidr string) error {
	r.told = append(r.told, cidr)
	return r.err
}

// given gives ranges of addresses to the node, as a controller manager does.
func (h *harness) given(ranges ...string) {
	require.NoError(h, h.server.Admin().EditNode("n1", func(n *v1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = ranges[0], ranges }))
}

// TestCluster_ND28_PodCIDR: the runtime gets the pod CIDRs once when they are known, once after a change, and again
// after a transient error.
func TestCluster_ND28_PodCIDR(t *testing.T) {
	h := simulate(t, 1)
	r := &ranged{Runtime: h.machine}
	h.runtime = r
	h.start()
	h.after(time.Minute)
	assert.Empty(t, r.told)
	h.given("10.1.0.0/24", "2001:db8::/64")
	h.after(11 * time.Second)
	h.after(10 * time.Minute)
	assert.Equal(t, []string{"10.1.0.0/24,2001:db8::/64"}, r.told)

	r.err, r.told = errors.New("away"), nil
	h.given("10.2.0.0/24")
	h.after(35 * time.Second)
	assert.Len(t, r.told, 3)
	r.err, r.told = nil, nil
	h.after(10 * time.Minute)
	assert.Equal(t, []string{"10.2.0.0/24"}, r.told)

	r.err, r.told = runtime.ErrUnsupported, nil
	h.given("10.3.0.0/24")
	h.after(10 * time.Minute)
	assert.Equal(t, []string{"10.3.0.0/24"}, r.told)
}
