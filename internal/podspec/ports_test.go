package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Two pods cannot use one port with one protocol at one address. The wildcard address conflicts with every address.
func TestHostPort_Conflicts(t *testing.T) {
	a := podspec.HostPort{IP: "192.0.2.1", Protocol: v1.ProtocolTCP, Port: 80}
	for _, c := range []struct {
		b    podspec.HostPort
		want bool
	}{
		{a, true},
		{podspec.HostPort{IP: "0.0.0.0", Protocol: v1.ProtocolTCP, Port: 80}, true},
		{podspec.HostPort{IP: "192.0.2.2", Protocol: v1.ProtocolTCP, Port: 80}, false},
		{podspec.HostPort{IP: "192.0.2.1", Protocol: v1.ProtocolUDP, Port: 80}, false},
		{podspec.HostPort{IP: "192.0.2.1", Protocol: v1.ProtocolTCP, Port: 81}, false},
	} {
		assert.Equal(t, c.want, a.Conflicts(c.b), c.b)
		assert.Equal(t, c.want, c.b.Conflicts(a), c.b)
	}
	assert.Equal(t, "192.0.2.1:80/TCP", a.String())
}

// What a pod takes of its host: what lasts and is published, and in the network of the host
// all that its containers listen at.
func TestHostPorts(t *testing.T) {
	p := podWithAllKinds()
	p.Spec.InitContainers[0].Ports = []v1.ContainerPort{{ContainerPort: 1, HostPort: 1}}
	p.Spec.InitContainers[1].Ports = []v1.ContainerPort{{ContainerPort: 2, HostPort: 3, HostIP: "::"}}
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 4, HostPort: 5, HostIP: "192.0.2.1", Protocol: v1.ProtocolUDP}, {ContainerPort: 6}}
	published := []podspec.HostPort{{IP: "0.0.0.0", Protocol: v1.ProtocolTCP, Port: 3}, {IP: "192.0.2.1", Protocol: v1.ProtocolUDP, Port: 5}}
	assert.Equal(t, published, podspec.HostPorts(p))
	p.Spec.HostNetwork = true
	p.Spec.Containers[1].Ports = []v1.ContainerPort{{}}
	first, last := podspec.HostPort{IP: "0.0.0.0", Protocol: v1.ProtocolTCP, Port: 1}, podspec.HostPort{IP: "0.0.0.0", Protocol: v1.ProtocolTCP, Port: 6}
	assert.Equal(t, []podspec.HostPort{first, published[0], published[1], last}, podspec.HostPorts(p))
}
