package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// Client implements apiserver.Server. All methods are safe for concurrent use.
type Client struct {
	node       string
	config     *rest.Config
	serializer runtime.NegotiatedSerializer
	calls      *connections
	heartbeat  *connections

	core, nodes, leases *rest.RESTClient
}

// New returns a client with the credentials of the node. It opens no connection. It returns an error if the
// configuration cannot be used.
func New(cfg *rest.Config, nodeName string) (*Client, error) {
	if cfg == nil || nodeName == "" {
		return nil, errors.New("client: a configuration and the name of the node are required")
	}
	if err := checkServerURL(cfg); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, coordinationv1.AddToScheme, nodev1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
	}
	c := &Client{node: nodeName, config: rest.CopyConfig(cfg), serializer: lostFieldSerializer{serializer.NewCodecFactory(scheme).WithoutConversion()}}
	token, err := newTokenFileIfConfigured(cfg)
	if err != nil {
		return nil, err
	}
	if c.calls, err = newConnections(cfg, token, answerTimeout); err != nil {
		return nil, err
	}
	if c.heartbeat, err = newConnections(cfg, token, heartbeatTimeout); err != nil {
		return nil, err
	}
	return c, c.createGroupClients()
}

// ForNode returns a client of another node with the credentials and connections of c.
func (c *Client) ForNode(nodeName string) (*Client, error) {
	if nodeName == "" {
		return nil, errors.New("client: the name of the node is required")
	}
	other := *c
	other.node = nodeName
	return &other, nil
}

// Impersonate returns a client of another node over the connections of c. The server treats its requests as requests of
// user system:node:<name> in group system:nodes. The user of c needs the right to impersonate both.
func (c *Client) Impersonate(nodeName string) (*Client, error) {
	other, err := c.ForNode(nodeName)
	if err != nil {
		return nil, err
	}
	other.config = rest.CopyConfig(c.config)
	other.config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + nodeName, Groups: []string{"system:nodes"}}
	return other, other.createGroupClients()
}

// Requests returns the number of requests that were sent over the connections of c, by all clients that share them.
func (c *Client) Requests() int64 {
	return c.calls.requestCount.Load() + c.heartbeat.requestCount.Load()
}

// createGroupClients creates the clients of the API groups core, node and coordination. Leases use their own
// connections, with a shorter response timeout.
func (c *Client) createGroupClients() (err error) {
	for _, g := range []struct {
		client  **rest.RESTClient
		path    string
		version schema.GroupVersion
		over    *connections
	}{
		{&c.core, "/api", v1.SchemeGroupVersion, c.calls},
		{&c.nodes, "/apis", nodev1.SchemeGroupVersion, c.calls},
		{&c.leases, "/apis", coordinationv1.SchemeGroupVersion, c.heartbeat},
	} {
		if *g.client, err = c.newGroupClient(c.config, g.path, g.version, g.over); err != nil {
			return err
		}
	}
	return nil
}

// FromKubeconfig is New with the current context of a kubeconfig file.
func FromKubeconfig(path, nodeName string) (*Client, error) {
	cfg, err := Kubeconfig(path)
	if err != nil {
		return nil, err
	}
	return New(cfg, nodeName)
}

// Kubeconfig reads the current context of a kubeconfig file. A program can change the result before New, for example
// set its Wrap to metrics.Metrics.RoundTripper to count requests.
func Kubeconfig(path string) (*rest.Config, error) {
	if path == "" {
		return nil, errors.New("client: the path of a kubeconfig is required")
	}
	if err := validateKubeconfigFile(path); err != nil {
		return nil, err
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("client: %s has no current context that names a cluster", path)
	}
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return cfg, nil
}

// maxKubeconfigBytes bounds a kubeconfig; kubectl config writes smaller files.
const maxKubeconfigBytes = 4 << 20

// validateKubeconfigFile returns an error for a file that is not regular, too large, or not valid YAML.
func validateKubeconfigFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("client: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("client: the kubeconfig %s is not a regular file", path)
	case info.Size() > maxKubeconfigBytes:
		return fmt.Errorf("client: the kubeconfig %s has %d bytes, more than %d", path, info.Size(), maxKubeconfigBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	// client-go reads YAML without a bound: a few kilobytes of aliases would become gigabytes.
	_, _, faults := document.JSON(text, document.Bounds{Bytes: maxKubeconfigBytes, Memory: maxKubeconfigBytes})
	if len(faults) > 0 {
		return fmt.Errorf("client: the kubeconfig %s cannot be read: %w", path, faults.InOrder())
	}
	return nil
}

// checkServerURL returns an error if the server address begins with neither http:// nor https://.
func checkServerURL(cfg *rest.Config) error {
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if server.Scheme != "https" && server.Scheme != "http" {
		return fmt.Errorf("client: the API server's address %s begins with neither https:// nor http://", server)
	}
	return nil
}

// LocalAddress returns the address from which this machine reaches the API server, for a node without a configured
// address. It resolves the server's name and asks the operating system for the route. It sends nothing to the server.
// If the server is on this machine, the result is a loopback address.
func (c *Client) LocalAddress(ctx context.Context) (netip.Addr, error) {
	server, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("client: %w", err)
	}
	const anyPort = "443"
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "udp", net.JoinHostPort(server.Hostname(), anyPort))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("client: %w", err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

const protobufContentType = runtime.ContentTypeProtobuf

// newGroupClient returns a client of one API group that uses protobuf, has no rate limit, and sends over the
// given connections.
func (c *Client) newGroupClient(cfg *rest.Config, path string, version schema.GroupVersion, over *connections) (*rest.RESTClient, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = path, &version, c.serializer
	cfg.ContentType, cfg.AcceptContentTypes = protobufContentType, protobufContentType+","+runtime.ContentTypeJSON
	cfg.QPS, cfg.RateLimiter = -1, nil
	if cfg.WarningHandler == nil && cfg.WarningHandlerWithContext == nil {
		cfg.WarningHandler = rest.NoWarnings{} // The default would print warnings of the server to stderr.
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "podkeel"
	}
	httpClient, err := over.newHTTPClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	group, err := rest.RESTClientForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return group, nil
}

// Reconnect makes new calls use new connections, and closes idle ones. Running calls and streams continue.
func (c *Client) Reconnect() {
	c.calls.replacePoolIfCurrent(c.calls.current.Load())
	c.heartbeat.replacePoolIfCurrent(c.heartbeat.current.Load())
}

// Pods implements apiserver.Server.
func (c *Client) Pods() apiserver.Pods { return pods{c} }

// Nodes implements apiserver.Server.
func (c *Client) Nodes() apiserver.Nodes { return nodes{c} }

// Leases implements apiserver.Server.
func (c *Client) Leases() apiserver.Leases { return leases{c} }

// Objects implements apiserver.Server.
func (c *Client) Objects() apiserver.Objects { return objects{c} }

// Tokens implements apiserver.Server.
func (c *Client) Tokens() apiserver.Tokens { return tokens{c} }

// Claims implements apiserver.Server.
func (c *Client) Claims() apiserver.Claims { return claims{c} }

// Events implements apiserver.Server.
func (c *Client) Events() apiserver.Events { return events{c} }

// Reviews implements apiserver.Server.
func (c *Client) Reviews() apiserver.Reviews { return reviews{c} }

// PodFeed implements apiserver.Server.
func (c *Client) PodFeed() apiserver.Feed[*v1.Pod] {
	return feed[v1.Pod, *v1.Pod, *v1.PodList]{c, c.core, "pods", "", fields.OneTermEqualSelector("spec.nodeName", c.node),
		func(l *v1.PodList) []v1.Pod { return l.Items }}
}

// NodeFeed implements apiserver.Server.
func (c *Client) NodeFeed() apiserver.Feed[*v1.Node] {
	return feed[v1.Node, *v1.Node, *v1.NodeList]{c, c.core, "nodes", "", nameSelector(c.node),
		func(l *v1.NodeList) []v1.Node { return l.Items }}
}

// objects implements apiserver.Objects.
type objects struct{ c *Client }

func (o objects) ConfigMap(namespace, name string) apiserver.Feed[*v1.ConfigMap] {
	return feed[v1.ConfigMap, *v1.ConfigMap, *v1.ConfigMapList]{o.c, o.c.core, "configmaps", namespace, nameSelector(name),
		func(l *v1.ConfigMapList) []v1.ConfigMap { return l.Items }}
}

func (o objects) Secret(namespace, name string) apiserver.Feed[*v1.Secret] {
	return feed[v1.Secret, *v1.Secret, *v1.SecretList]{o.c, o.c.core, "secrets", namespace, nameSelector(name),
		func(l *v1.SecretList) []v1.Secret { return l.Items }}
}

func (o objects) Services() apiserver.Feed[*v1.Service] {
	withIP := fields.AndSelectors(fields.OneTermNotEqualSelector("spec.clusterIP", v1.ClusterIPNone), fields.OneTermNotEqualSelector("spec.clusterIP", ""))
	return feed[v1.Service, *v1.Service, *v1.ServiceList]{o.c, o.c.core, "services", "", withIP,
		func(l *v1.ServiceList) []v1.Service { return l.Items }}
}

func (o objects) RuntimeClasses() apiserver.Feed[*nodev1.RuntimeClass] {
	return feed[nodev1.RuntimeClass, *nodev1.RuntimeClass, *nodev1.RuntimeClassList]{o.c, o.c.nodes, "runtimeclasses", "", fields.Everything(),
		func(l *nodev1.RuntimeClassList) []nodev1.RuntimeClass { return l.Items }}
}

// nameSelector returns a field selector for the object with this name.
func nameSelector(name string) fields.Selector {
	return fields.OneTermEqualSelector("metadata.name", name)
}
