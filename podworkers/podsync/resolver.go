package podsync

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// Resolver is what pods are told about the names of others. The zero value is a
// node without a cluster: pods use the resolver of the host as it is.
type Resolver struct {
	// ClusterDNS are the addresses of the cluster's name servers.
	ClusterDNS []string
	// ClusterDomain is what the names of the cluster end in, as "cluster.local".
	ClusterDomain string
	// Host is the resolver configuration of the host, see ParseResolver. Where it
	// is empty, a runtime that is told nothing uses the host's own.
	Host runtime.DNS
	// ReadHost, if it is set, takes the place of Host, which may change while pods
	// run. It is called before each sandbox whose pod goes by the host, by several
	// goroutines, and should not block. With an error the sandbox is not made, and
	// tried again.
	ReadHost func() (runtime.DNS, error)
}

// hostFor is the resolver configuration of the host, as it is now, for a pod that goes by
// it.
func (r *Resolver) hostFor(pod *v1.Pod) (runtime.DNS, error) {
	if r.ReadHost == nil || !request.UsesHostDNS(pod) {
		return r.Host, nil
	}
	d, err := r.ReadHost()
	if err != nil {
		return runtime.DNS{}, fmt.Errorf("the host's resolver configuration: %w", err)
	}
	return d, nil
}

// ParseResolver reads a resolver configuration, as that in /etc/resolv.conf. Of
// several search lines the last one counts. What it does not know it skips.
func ParseResolver(text string) runtime.DNS { return request.ParseDNS(text) }
