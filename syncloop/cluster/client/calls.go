package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// object is a pointer to T that is an object of the API.
type object[T any] interface {
	*T
	runtime.Object
}

// doRequest sends one request without retries and returns the response. A successful response with another
// kind, for example from a proxy, becomes an error, because an empty object would look like a real state.
func doRequest[P runtime.Object](ctx context.Context, r *rest.Request) (none P, err error) {
	answer, err := r.MaxRetries(0).Do(ctx).Get()
	if err != nil {
		return none, err
	}
	out, ok := answer.(P)
	if !ok {
		return none, apierrors.NewInternalError(fmt.Errorf("the server responded with %T, expected %T", answer, none))
	}
	return out, nil
}

// pods implements apiserver.Pods.
type pods struct{ c *Client }

func (p pods) Get(ctx context.Context, namespace, name string) (*v1.Pod, error) {
	return doRequest[*v1.Pod](ctx, p.c.core.Get().Namespace(namespace).Resource("pods").Name(name))
}

func (p pods) Create(ctx context.Context, pod *v1.Pod) (*v1.Pod, error) {
	return doRequest[*v1.Pod](ctx, p.c.core.Post().Namespace(pod.Namespace).Resource("pods").Body(pod))
}

func (p pods) PatchStatus(ctx context.Context, ref apiserver.PodRef, patch []byte) (*v1.Pod, error) {
	pod, err := doRequest[*v1.Pod](ctx, p.c.core.Patch(types.StrategicMergePatchType).Namespace(ref.Namespace).Resource("pods").Name(ref.Name).SubResource("status").Body(patch))
	if isUIDConflict(err) {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, ref.Name, err)
	}
	return pod, err
}

// isUIDConflict reports whether the server has refused a patch as invalid because it changes metadata.uid.
func isUIDConflict(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

func (p pods) Delete(ctx context.Context, ref apiserver.PodRef, gracePeriodSeconds *int64) error {
	opts := &metav1.DeleteOptions{GracePeriodSeconds: gracePeriodSeconds, Preconditions: &metav1.Preconditions{UID: &ref.UID}}
	return p.c.core.Delete().Namespace(ref.Namespace).Resource("pods").Name(ref.Name).Body(opts).MaxRetries(0).Do(ctx).Error()
}

// nodes implements apiserver.Nodes.
type nodes struct{ c *Client }

func (n nodes) Get(ctx context.Context, name string) (*v1.Node, error) {
	return doRequest[*v1.Node](ctx, n.c.core.Get().Resource("nodes").Name(name))
}

func (n nodes) Create(ctx context.Context, node *v1.Node) (*v1.Node, error) {
	return doRequest[*v1.Node](ctx, n.c.core.Post().Resource("nodes").Body(node))
}

func (n nodes) Patch(ctx context.Context, name string, patch []byte) (*v1.Node, error) {
	return doRequest[*v1.Node](ctx, n.c.core.Patch(types.StrategicMergePatchType).Resource("nodes").Name(name).Body(patch))
}

func (n nodes) PatchStatus(ctx context.Context, name string, patch []byte) (*v1.Node, error) {
	return doRequest[*v1.Node](ctx, n.c.core.Patch(types.StrategicMergePatchType).Resource("nodes").Name(name).SubResource("status").Body(patch))
}

// leases implements apiserver.Leases.
type leases struct{ c *Client }

func (l leases) Get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return doRequest[*coordinationv1.Lease](ctx, l.c.leases.Get().Namespace(v1.NamespaceNodeLease).Resource("leases").Name(name))
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return doRequest[*coordinationv1.Lease](ctx, l.c.leases.Post().Namespace(v1.NamespaceNodeLease).Resource("leases").Body(lease))
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return doRequest[*coordinationv1.Lease](ctx, l.c.leases.Put().Namespace(v1.NamespaceNodeLease).Resource("leases").Name(lease.Name).Body(lease))
}

// tokens implements apiserver.Tokens.
type tokens struct{ c *Client }

func (t tokens) CreateToken(ctx context.Context, namespace, account string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	return doRequest[*authenticationv1.TokenRequest](ctx, t.c.core.Post().Namespace(namespace).Resource("serviceaccounts").Name(account).SubResource("token").Body(request))
}

// claims implements apiserver.Claims.
type claims struct{ c *Client }

func (c claims) GetClaim(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error) {
	return doRequest[*v1.PersistentVolumeClaim](ctx, c.c.core.Get().Namespace(namespace).Resource("persistentvolumeclaims").Name(name))
}

func (c claims) GetVolume(ctx context.Context, name string) (*v1.PersistentVolume, error) {
	return doRequest[*v1.PersistentVolume](ctx, c.c.core.Get().Resource("persistentvolumes").Name(name))
}

// events implements apiserver.Events.
type events struct{ c *Client }

func (e events) CreateEvent(ctx context.Context, event *v1.Event) (*v1.Event, error) {
	return doRequest[*v1.Event](ctx, e.c.core.Post().Namespace(event.Namespace).Resource("events").Body(event))
}

func (e events) PatchEvent(ctx context.Context, namespace, name string, patch []byte) (*v1.Event, error) {
	return doRequest[*v1.Event](ctx, e.c.core.Patch(types.StrategicMergePatchType).Namespace(namespace).Resource("events").Name(name).Body(patch))
}

// reviews implements apiserver.Reviews.
type reviews struct{ c *Client }

func (r reviews) CreateTokenReview(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	return doRequest[*authenticationv1.TokenReview](ctx, r.c.core.Post().AbsPath("/apis/authentication.k8s.io/v1/tokenreviews").Body(review))
}

func (r reviews) CreateSubjectAccessReview(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
	return doRequest[*authorizationv1.SubjectAccessReview](ctx, r.c.core.Post().AbsPath("/apis/authorization.k8s.io/v1/subjectaccessreviews").Body(review))
}
