package apiservertest

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// Client implements apiserver.Server for one node.
type Client struct {
	s    *Server
	node string
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
	return feed[*v1.Pod]{c, Request{Resource: "pods"}, func(o Object) bool { return o.(*v1.Pod).Spec.NodeName == c.node }, allowAll}
}

// NodeFeed implements apiserver.Server.
func (c *Client) NodeFeed() apiserver.Feed[*v1.Node] {
	return feed[*v1.Node]{c, Request{Resource: "nodes", Name: c.node}, selectByName("", c.node), allowAll}
}

// objects implements apiserver.Objects.
type objects struct{ c *Client }

func (o objects) ConfigMap(namespace, name string) apiserver.Feed[*v1.ConfigMap] {
	r := Request{Resource: "configmaps", Namespace: namespace, Name: name}
	return feed[*v1.ConfigMap]{o.c, r, selectByName(namespace, name), func() error { return o.c.checkReferencedLocked(r, configMapNames) }}
}

func (o objects) Secret(namespace, name string) apiserver.Feed[*v1.Secret] {
	r := Request{Resource: "secrets", Namespace: namespace, Name: name}
	return feed[*v1.Secret]{o.c, r, selectByName(namespace, name), func() error { return o.c.checkReferencedLocked(r, secretNames) }}
}

func (o objects) Services() apiserver.Feed[*v1.Service] {
	selected := func(o Object) bool {
		ip := o.(*v1.Service).Spec.ClusterIP
		return ip != "" && ip != v1.ClusterIPNone
	}
	return feed[*v1.Service]{o.c, Request{Resource: "services"}, selected, allowAll}
}

func (o objects) RuntimeClasses() apiserver.Feed[*nodev1.RuntimeClass] {
	return feed[*nodev1.RuntimeClass]{o.c, Request{Resource: "runtimeclasses"}, func(Object) bool { return true }, allowAll}
}

// allowAll allows every request.
func allowAll() error { return nil }

// selectByName returns a function that selects the object with this namespace and name.
func selectByName(namespace, name string) func(Object) bool {
	return func(o Object) bool { return o.GetNamespace() == namespace && o.GetName() == name }
}

// applyPatch returns a changed copy of an object after a strategic merge patch. It refuses a patch that changes
// the name or namespace.
func applyPatch[T any, P interface {
	*T
	Object
}](o P, patch []byte) (P, error) {
	before, err := json.Marshal(o)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, *o)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	out := new(T)
	if err := json.Unmarshal(after, out); err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(patch), err.Error())})
	}
	if after := P(out); after.GetName() != o.GetName() || after.GetNamespace() != o.GetNamespace() {
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	}
	return out, nil
}
