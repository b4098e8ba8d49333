package cluster

import (
	"crypto/x509"
	"net/http"

	"github.com/podkeel/podkeel/syncloop/cluster/internal/review"
	"github.com/podkeel/podkeel/syncloop/server"
	"github.com/podkeel/podkeel/syncloop/stats"
)

// Handler returns the node's own API; serve it with TLS on Config.Port: see package server. The API server
// authenticates bearer tokens and authorizes all users. A client certificate must be signed by clientCAs, which is
// called for each request with a certificate and may be nil. Handler may be called before Run.
func (c *Node) Handler(clientCAs func() *x509.CertPool) (http.Handler, error) {
	reviewer, err := review.New(review.Config{
		Reviews: c.config.Server.Reviews(), ClientCAs: clientCAs, Contact: c.contact, Clock: c.config.Node.Clock,
		Log: c.config.Node.Log,
	})
	if err != nil {
		return nil, err
	}
	n := c.node
	return server.New(server.Config{
		NodeName: c.config.Node.Name, Pods: n.Pods, Health: func() error { return n.Health().Err }, Finder: n.Containers(),
		Logs: n.Containers(), Exec: n.Containers(), Attach: n.Containers(), PortForward: n.Containers(),
		Metrics: c.config.Metrics, ResourceMetrics: c.config.ResourceMetrics, Stats: stats.Handler(n.Containers()), Configuration: c.config.Configuration,
		Authenticator: reviewer, Authorizer: reviewer,
	})
}
