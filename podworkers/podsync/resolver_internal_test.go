package podsync

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// The configuration of the host may change. It is read for each pod that uses it, and only for those.
func TestResolver_ReadHost(t *testing.T) {
	first := runtime.DNS{Servers: []string{"192.0.2.1"}, Searches: []string{"example.org"}}
	asked, now := 0, first
	r := Resolver{Host: runtime.DNS{Servers: []string{"192.0.2.99"}}, ReadHost: func() (runtime.DNS, error) {
		asked++
		if len(now.Servers) == 0 {
			return runtime.DNS{}, errors.New("no such file")
		}
		return now, nil
	}}
	pod := &v1.Pod{Spec: v1.PodSpec{DNSPolicy: v1.DNSDefault}}
	got, err := r.hostDNSFor(pod)
	require.NoError(t, err)
	assert.Equal(t, first, got)

	now = runtime.DNS{Servers: []string{"192.0.2.2"}, Searches: []string{"example.net"}}
	pod.Spec.DNSPolicy = v1.DNSClusterFirst
	got, err = r.hostDNSFor(pod)
	require.NoError(t, err)
	assert.Equal(t, now, got)

	now = runtime.DNS{}
	_, err = r.hostDNSFor(pod)
	assert.EqualError(t, err, "the host's resolver configuration: no such file")
	assert.Equal(t, 3, asked)
	pod.Spec.DNSPolicy = v1.DNSNone
	_, err = r.hostDNSFor(pod)
	require.NoError(t, err)
	assert.Equal(t, 3, asked, "a pod that has its own does not go by the host's")

	r.ReadHost, pod.Spec.DNSPolicy = nil, v1.DNSDefault
	got, err = r.hostDNSFor(pod)
	require.NoError(t, err)
	assert.Equal(t, r.Host, got)
}
