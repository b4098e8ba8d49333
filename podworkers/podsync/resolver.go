package podsync

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// Resolver is the DNS configuration of pods. The zero value is for a node without a cluster: pods
// use the resolver configuration of the host.
type Resolver struct {
	// ClusterDNS has the addresses of the cluster's name servers.
	ClusterDNS []string
	// ClusterDomain is the suffix of the cluster's names, for example "cluster.local".
	ClusterDomain string
	// Host is the resolver configuration of the host, see ParseResolver. If it is empty, the runtime
	// uses the configuration of the host itself.
	Host runtime.DNS
	// ReadHost, if it is set, replaces Host, because the configuration of the host may change while
	// pods run. It is called before the creation of each sandbox whose pod uses the DNS of the host, by
	// several goroutines, and should not block. After an error the sandbox is not created, and the sync
	// is retried.
	ReadHost func() (runtime.DNS, error)
}

// hostDNSFor returns the resolver configuration of the host for a pod. If the pod uses the host's DNS and
// ReadHost is set, it returns the result of ReadHost. In all other cases it returns the field Host. It returns
// an error if ReadHost fails.
func (r *Resolver) hostDNSFor(pod *v1.Pod) (runtime.DNS, error) {
	if r.ReadHost == nil || !request.UsesHostDNS(pod) {
		return r.Host, nil
	}
	d, err := r.ReadHost()
	if err != nil {
		return runtime.DNS{}, fmt.Errorf("the host's resolver configuration: %w", err)
	}
	return d, nil
}

// ParseResolver parses a resolver configuration such as /etc/resolv.conf. The last of several search
// lines counts. Unknown lines are skipped.
func ParseResolver(text string) runtime.DNS { return request.ParseDNS(text) }
