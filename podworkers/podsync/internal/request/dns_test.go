package request_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

func named(change func(*v1.PodSpec)) *v1.Pod {
	pod := &v1.Pod{}
	pod.Name, pod.Namespace = "web", "ns"
	change(&pod.Spec)
	return pod
}

var (
	host    = runtime.DNS{Servers: []string{"192.0.2.1"}, Searches: []string{"example.org"}, Options: []string{"ndots:1", "rotate"}}
	cluster = runtime.DNS{
		Servers: []string{"10.0.0.10"}, Searches: []string{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.org"}, Options: []string{"ndots:5"},
	}
)

func TestDNS_Policies(t *testing.T) {
	in := request.Node{ClusterDNS: []string{"10.0.0.10"}, ClusterDomain: "cluster.local"}
	for _, c := range []struct {
		node        request.Node
		host        runtime.DNS
		policy      v1.DNSPolicy
		hostNetwork bool
		want        runtime.DNS
		warnings    int
	}{
		{in, host, v1.DNSDefault, false, host, 0},
		{in, host, v1.DNSClusterFirst, false, cluster, 0},
		{in, host, "", false, cluster, 0},
		{in, host, v1.DNSClusterFirst, true, host, 0},
		{in, host, v1.DNSClusterFirstWithHostNet, true, cluster, 0},
		{in, host, v1.DNSNone, false, runtime.DNS{}, 0},
		{request.Node{}, host, v1.DNSClusterFirst, false, host, 0},
		{request.Node{}, host, v1.DNSClusterFirstWithHostNet, true, host, 1},
		{request.Node{}, runtime.DNS{}, v1.DNSClusterFirst, false, runtime.DNS{}, 0},
	} {
		got, warnings, err := c.node.DNSConfig(named(func(s *v1.PodSpec) { s.DNSPolicy, s.HostNetwork = c.policy, c.hostNetwork }), c.host)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%s %t", c.policy, c.hostNetwork)
		assert.Len(t, warnings, c.warnings, "%s %t", c.policy, c.hostNetwork)
	}
	_, _, err := in.DNSConfig(named(func(s *v1.PodSpec) { s.DNSPolicy = "Some" }), host)
	assert.EqualError(t, err, `spec.dnsPolicy: "Some" is not known`)
	assert.Equal(t, "ndots:1", host.Options[0], "the configuration of the host does not change")
}

func TestDNS_OwnConfig(t *testing.T) {
	in := request.Node{ClusterDNS: []string{"10.0.0.10"}, ClusterDomain: "cluster.local"}
	pod := named(func(s *v1.PodSpec) {
		s.DNSConfig = &v1.PodDNSConfig{
			Nameservers: []string{"192.0.2.9", "10.0.0.10"}, Searches: []string{"my.org", "example.org"},
			Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}, {Name: "edns0"}},
		}
	})
	got, warnings, err := in.DNSConfig(pod, host)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, runtime.DNS{
		Servers: []string{"10.0.0.10", "192.0.2.9"}, Searches: append(cluster.Searches[:4:4], "my.org"), Options: []string{"ndots:2", "edns0"},
	}, got)

	pod.Spec.DNSConfig.Nameservers = nil
	_, warnings, _ = new(request.Node).DNSConfig(pod, runtime.DNS{})
	assert.Equal(t, []string{"spec.dnsConfig is used alone: the resolver configuration of the host is not known"}, warnings)
}

func TestDNS_Limits(t *testing.T) {
	own := &v1.PodDNSConfig{Nameservers: []string{"1", "2", "3", "4"}}
	for i := range 33 {
		own.Searches = append(own.Searches, fmt.Sprint("d", i))
	}
	pod := named(func(s *v1.PodSpec) { s.DNSPolicy, s.DNSConfig = v1.DNSNone, own })
	got, warnings, err := new(request.Node).DNSConfig(pod, runtime.DNS{})
	require.NoError(t, err)
	assert.Equal(t, []string{"1", "2", "3"}, got.Servers)
	assert.Len(t, got.Searches, 32)
	assert.Equal(t, []string{"some name servers were left out: 3 are used, 1 2 3", "some search domains were left out: the first 32 are used"}, warnings)
	own.Nameservers, own.Searches = own.Nameservers[:3], own.Searches[:32]
	_, warnings, err = new(request.Node).DNSConfig(pod, runtime.DNS{})
	require.NoError(t, err)
	assert.Empty(t, warnings, "all fit")
	own.Searches = []string{strings.Repeat("a", 1000), strings.Repeat("b", 1000), strings.Repeat("c", 46), "d"}
	got, _, _ = new(request.Node).DNSConfig(pod, runtime.DNS{})
	assert.Len(t, got.Searches, 3, "2048 characters with the blanks between them")
}

func TestParseDNS(t *testing.T) {
	got := request.ParseDNS("# made by hand\nnameserver 192.0.2.1\nsearch old.org\nsearch example.org. sub.example.org .\noptions ndots:1 rotate\noptions ndots:2 ; later\nnameserver\nnameserver fd00::1 # v6\n")
	assert.Equal(t, runtime.DNS{
		Servers: []string{"192.0.2.1", "fd00::1"}, Searches: []string{"example.org", "sub.example.org", "."}, Options: []string{"ndots:2", "rotate"},
	}, got)
}

func TestNames(t *testing.T) {
	r := &request.Node{ClusterDomain: "cluster.local"}
	long := strings.Repeat("a", 62) + "-b"
	for _, c := range []struct {
		why    string
		change func(*v1.PodSpec)
		host   string
		hosts  []string
		err    string
	}{
		{"its name", func(*v1.PodSpec) {}, "web", []string{"web"}, ""},
		{"as it asks", func(s *v1.PodSpec) { s.Hostname = "db" }, "db", []string{"db"}, ""},
		{"the host's", func(s *v1.PodSpec) { s.HostNetwork = true }, "", nil, ""},
		{"a domain", func(s *v1.PodSpec) { s.Subdomain = "sub" }, "web", []string{"web.sub.ns.svc.cluster.local", "web"}, ""},
		{"in full", func(s *v1.PodSpec) { s.Subdomain, s.SetHostnameAsFQDN = "sub", new(true) }, "web.sub.ns.svc.cluster.local", []string{"web.sub.ns.svc.cluster.local", "web"}, ""},
		{"in full, without a domain", func(s *v1.PodSpec) { s.SetHostnameAsFQDN = new(true) }, "web", []string{"web"}, ""},
		{"replaced", func(s *v1.PodSpec) { s.HostnameOverride, s.Subdomain = new("a.b"), "sub" }, "a.b", []string{"a.b"}, ""},
		{"no label", func(s *v1.PodSpec) { s.Hostname = "A b" }, "", nil, "spec.hostname"},
		{"too long a label", func(s *v1.PodSpec) { s.Hostname = long }, "", nil, "spec.hostname"},
		{"no domain", func(s *v1.PodSpec) { s.Subdomain = "a.b" }, "", nil, "spec.subdomain"},
		{"too long in full", func(s *v1.PodSpec) { s.Hostname, s.Subdomain, s.SetHostnameAsFQDN = long[:50], "sub", new(true) }, "", nil, "failed to construct FQDN from pod hostname and cluster domain, FQDN " + long[:50] + ".sub.ns.svc.cluster.local is too long (64 characters is the max, 75 characters requested)"},
		{"no name", func(s *v1.PodSpec) { s.HostnameOverride = new("") }, "", nil, "spec.hostnameOverride"},
		{"too long a name", func(s *v1.PodSpec) { s.HostnameOverride = new(long + "b") }, "", nil, "spec.hostnameOverride"},
	} {
		got, err := r.Hostnames(named(c.change))
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, c.why)
			continue
		}
		require.NoError(t, err, c.why)
		assert.Equal(t, request.Hostnames{c.host, c.hosts}, got, c.why)
	}
	for name, host := range map[string]string{strings.Repeat("a", 63): strings.Repeat("a", 63), strings.Repeat("a", 62) + "-": strings.Repeat("a", 62) + "-"} {
		pod := named(func(*v1.PodSpec) {})
		pod.Name = name
		got, err := r.Hostnames(pod)
		require.NoError(t, err)
		assert.Equal(t, host, got.Host, "it fits")
	}
	longest := strings.Repeat("a", 64-len(".sub.ns.svc.cluster.local"))
	got, err := r.Hostnames(named(func(s *v1.PodSpec) { s.Hostname, s.Subdomain, s.SetHostnameAsFQDN = longest, "sub", new(true) }))
	require.NoError(t, err)
	assert.Len(t, got.Host, 64)
	got, err = r.Hostnames(named(func(s *v1.PodSpec) { s.HostnameOverride = new(strings.Repeat("a", 60) + ".com") }))
	require.NoError(t, err)
	assert.Len(t, got.Host, 64)
	pod := named(func(*v1.PodSpec) {})
	pod.Name = long
	got, err = r.Hostnames(pod)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("a", 62), got.Host, "cut, and no dash at its end")
	pod.Name, pod.Spec.Subdomain = "web", "sub"
	got, err = new(request.Node).Hostnames(pod)
	require.NoError(t, err)
	assert.Equal(t, []string{"web.sub.ns.svc", "web"}, got.Hosts)
}
