package clusterlab

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// Admin implements apiservertest.Administrator with the rights of an administrator.
type Admin struct {
	groups map[schema.GroupVersion]*rest.RESTClient
}

// Admin returns an Administrator of this cluster.
func (c *Cluster) Admin() (*Admin, error) {
	a := &Admin{map[schema.GroupVersion]*rest.RESTClient{}}
	for _, group := range []schema.GroupVersion{v1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion, nodev1.SchemeGroupVersion, appsv1.SchemeGroupVersion} {
		cfg := c.Rest("admin")
		cfg.GroupVersion, cfg.NegotiatedSerializer, cfg.QPS = &group, scheme.Codecs.WithoutConversion(), -1
		if cfg.APIPath = "/apis"; group.Group == "" {
			cfg.APIPath = "/api"
		}
		client, err := rest.RESTClientFor(cfg)
		if err != nil {
			return nil, err
		}
		a.groups[group] = client
	}
	return a, nil
}

// resourceOf returns the REST client, the resource name and the scope for an object's type. It returns nil for
// a type that it does not know.
func (a *Admin) resourceOf(o apiservertest.Object) (group *rest.RESTClient, resource string, namespaced bool) {
	core := a.groups[v1.SchemeGroupVersion]
	switch o.(type) {
	case *v1.Pod:
		return core, "pods", true
	case *v1.Node:
		return core, "nodes", false
	case *v1.Namespace:
		return core, "namespaces", false
	case *v1.ConfigMap:
		return core, "configmaps", true
	case *v1.Secret:
		return core, "secrets", true
	case *v1.Service:
		return core, "services", true
	case *v1.ServiceAccount:
		return core, "serviceaccounts", true
	case *v1.PersistentVolumeClaim:
		return core, "persistentvolumeclaims", true
	case *v1.PersistentVolume:
		return core, "persistentvolumes", false
	case *v1.Event:
		return core, "events", true
	case *coordinationv1.Lease:
		return a.groups[coordinationv1.SchemeGroupVersion], "leases", true
	case *appsv1.Deployment:
		return a.groups[appsv1.SchemeGroupVersion], "deployments", true
	case *nodev1.RuntimeClass:
		return a.groups[nodev1.SchemeGroupVersion], "runtimeclasses", false
	}
	return nil, "", false
}

// sendRequest sends a request about an object and returns the object in the response. For DELETE it returns no object.
// It returns an error for a type that resourceOf does not know.
func (a *Admin) sendRequest(ctx context.Context, verb string, o apiservertest.Object, subresource string, body any) (apiservertest.Object, error) {
	group, resource, namespaced := a.resourceOf(o)
	if group == nil {
		return nil, fmt.Errorf("clusterlab: no resource is known for %T", o)
	}
	r := group.Verb(verb).NamespaceIfScoped(o.GetNamespace(), namespaced).Resource(resource).SubResource(subresource)
	if verb != "POST" {
		r = r.Name(o.GetName())
	}
	if body != nil {
		r = r.Body(body)
	}
	if verb == "DELETE" {
		return nil, r.Do(ctx).Error()
	}
	out, err := r.Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	return out.(apiservertest.Object), nil
}

// Create implements apiservertest.Administrator.
func (a *Admin) Create(ctx context.Context, o apiservertest.Object) (apiservertest.Object, error) {
	return a.sendRequest(ctx, "POST", o, "", o)
}

// Get implements apiservertest.Administrator.
func (a *Admin) Get(ctx context.Context, o apiservertest.Object) (apiservertest.Object, error) {
	return a.sendRequest(ctx, "GET", o, "", nil)
}

// Update implements apiservertest.Administrator.
func (a *Admin) Update(ctx context.Context, o apiservertest.Object) (apiservertest.Object, error) {
	return a.sendRequest(ctx, "PUT", o, "", o)
}

// UpdateStatus implements apiservertest.Administrator.
func (a *Admin) UpdateStatus(ctx context.Context, o apiservertest.Object) (apiservertest.Object, error) {
	return a.sendRequest(ctx, "PUT", o, "status", o)
}

// PatchResize sends a strategic merge patch of the subresource resize of a pod, as kubectl patch --subresource resize
// does.
func (a *Admin) PatchResize(ctx context.Context, namespace, name string, patch []byte) error {
	return a.groups[v1.SchemeGroupVersion].Patch(types.StrategicMergePatchType).Namespace(namespace).Resource("pods").Name(name).
		SubResource("resize").Body(patch).Do(ctx).Error()
}

// Delete implements apiservertest.Administrator.
func (a *Admin) Delete(ctx context.Context, o apiservertest.Object, gracePeriodSeconds *int64) error {
	opts := &metav1.DeleteOptions{GracePeriodSeconds: gracePeriodSeconds}
	if uid := o.GetUID(); uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	_, err := a.sendRequest(ctx, "DELETE", o, "", opts)
	return err
}
