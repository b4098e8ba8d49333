package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/node"
)

// addresses are what the server shows of the node, and of its pod.
func (h *harness) addresses() string {
	var all []string
	for _, a := range h.server.Admin().Node("n1").Status.Addresses {
		all = append(all, a.Address)
	}
	return fmt.Sprintf("%s; pod: %s", strings.Join(all, " "), h.server.Admin().Pod("default", "web").Status.HostIP)
}

// edited sets the addresses of the node by hand.
func (h *harness) edited(addresses ...v1.NodeAddress) {
	require.NoError(h, h.server.Admin().EditNode("n1", func(n *v1.Node) { n.Status.Addresses = addresses }))
}

// TestCluster_ND12_VC29_AddressesThatAreFound: the node reports the addresses that it finds, and pods get the addresses
// that the node has at the server. While the node finds none, the addresses stay.
func TestCluster_ND12_VC29_AddressesThatAreFound(t *testing.T) {
	h := simulate(t, 1)
	found, resync := []string{"192.0.2.1", "2001:db8::1"}, 10*time.Second
	h.resync = resync
	h.ips = func(ctx context.Context) []string {
		_, bounded := ctx.Deadline()
		assert.True(t, bounded)
		return found
	}
	h.start()
	h.bind("web")
	h.after(time.Minute)
	assert.Equal(t, "192.0.2.1 2001:db8::1 n1; pod: 192.0.2.1", h.addresses())
	found = []string{"192.0.2.2"}
	h.after(time.Minute)
	assert.Equal(t, "192.0.2.2 n1; pod: 192.0.2.2", h.addresses())
	found = nil
	h.after(10 * time.Minute)
	assert.Equal(t, "192.0.2.2 n1; pod: 192.0.2.2", h.addresses())
}

// TestCluster_ND12_VC29_AddressesOfOthers: addresses that are neither given nor found are left to others, as a
// cloud, and pods follow them. Those that are given are given to pods, whatever others write.
func TestCluster_ND12_VC29_AddressesOfOthers(t *testing.T) {
	h := simulate(t, 1)
	h.resync = 10 * time.Second
	h.start()
	h.bind("web")
	h.after(time.Minute)
	assert.Equal(t, "127.0.0.1 n1; pod: 127.0.0.1", h.addresses())
	h.edited(v1.NodeAddress{Type: v1.NodeExternalIP, Address: "198.51.100.1"}, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "192.0.2.3"})
	h.after(10 * time.Minute)
	assert.Equal(t, "198.51.100.1 192.0.2.3; pod: 192.0.2.3", h.addresses())

	h.crash()
	h.edit = func(c *node.Config) { c.Containers.HostIPs = []string{"192.0.2.9"} }
	h.start()
	h.after(time.Minute)
	assert.Equal(t, "192.0.2.9 n1; pod: 192.0.2.9", h.addresses())
	h.edited(v1.NodeAddress{Type: v1.NodeInternalIP, Address: "192.0.2.3"})
	h.after(time.Minute)
	assert.Equal(t, "192.0.2.3; pod: 192.0.2.9", h.addresses())
}
