package apiserver

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodRef names one incarnation of a pod at the server.
type PodRef struct {
	Namespace, Name string
	// UID is the one at the server: that of the mirror pod for a static pod. It is a
	// precondition, so that a pod of the same name is never meant.
	UID types.UID
}

// Pods are the pods of the node, for those who write.
type Pods interface {
	// Get returns a pod by name.
	Get(ctx context.Context, namespace, name string) (*v1.Pod, error)
	// Create makes a pod; a node may make mirror pods only.
	Create(ctx context.Context, pod *v1.Pod) (*v1.Pod, error)
	// PatchStatus applies a strategic merge patch to the status and returns the pod. The
	// patch has ref.UID in its metadata: another UID is refused with reason Conflict.
	PatchStatus(ctx context.Context, ref PodRef, patch []byte) (*v1.Pod, error)
	// Delete deletes a pod with this UID as precondition: another UID is refused with
	// reason Conflict. gracePeriodSeconds zero removes it at once, nil is the pod's own.
	Delete(ctx context.Context, ref PodRef, gracePeriodSeconds *int64) error
}

// Nodes are the node's own object.
type Nodes interface {
	// Get returns the node.
	Get(ctx context.Context, name string) (*v1.Node, error)
	// Create registers the node.
	Create(ctx context.Context, node *v1.Node) (*v1.Node, error)
	// Patch applies a strategic merge patch to labels, annotations and spec.
	Patch(ctx context.Context, name string, patch []byte) (*v1.Node, error)
	// PatchStatus applies a strategic merge patch to the status.
	PatchStatus(ctx context.Context, name string, patch []byte) (*v1.Node, error)
}

// Leases are the node's heartbeat, in the namespace kube-node-lease. An
// implementation sends it on connections of its own, so that it does not wait behind
// other requests.
type Leases interface {
	// Get returns the lease.
	Get(ctx context.Context, name string) (*coordinationv1.Lease, error)
	// Create makes the lease.
	Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	// Update renews the lease; a resource version that is not the newest is refused with
	// reason Conflict.
	Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
}

// Objects are what pods refer to. A node may read single objects only, and only those
// that its pods name: any other is refused with reason Forbidden, for a moment also one
// of a pod that the server has just bound.
type Objects interface {
	// ConfigMap is the feed of one ConfigMap.
	ConfigMap(namespace, name string) Feed[*v1.ConfigMap]
	// Secret is the feed of one Secret.
	Secret(namespace, name string) Feed[*v1.Secret]
	// Services are all services that have a cluster IP.
	Services() Feed[*v1.Service]
	// RuntimeClasses are all of the cluster.
	RuntimeClasses() Feed[*nodev1.RuntimeClass]
}

// Tokens are those of service accounts.
type Tokens interface {
	// CreateToken asks for a token of the service account, bound to a pod of this node.
	CreateToken(ctx context.Context, namespace, serviceAccount string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
}

// Claims are the persistent volume claims of pods, and the volumes that are bound to them. A
// node may read those of its pods only.
type Claims interface {
	// GetClaim returns a claim.
	GetClaim(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error)
	// GetVolume returns the volume of a claim.
	GetVolume(ctx context.Context, name string) (*v1.PersistentVolume, error)
}

// Events record what happened to objects.
type Events interface {
	// CreateEvent records a new event.
	CreateEvent(ctx context.Context, event *v1.Event) (*v1.Event, error)
	// PatchEvent applies a strategic merge patch to an event that was recorded.
	PatchEvent(ctx context.Context, namespace, name string, patch []byte) (*v1.Event, error)
}

// Reviews are answers about those who ask a node something. A node may have them by its own
// rights.
type Reviews interface {
	// CreateTokenReview asks whose token it is.
	CreateTokenReview(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error)
	// CreateSubjectAccessReview asks what a user may do.
	CreateSubjectAccessReview(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error)
}

// NodeServer is what the object of a node asks of an API server.
type NodeServer interface {
	// NodeFeed is the node's own object as others change it, and none before it is registered.
	NodeFeed() Feed[*v1.Node]
	// Nodes is for the node's object.
	Nodes() Nodes
	// Leases is for the heartbeat.
	Leases() Leases
}

// Server is everything a node asks of an API server.
type Server interface {
	NodeServer
	// PodFeed is the pods that are bound to the node.
	PodFeed() Feed[*v1.Pod]
	// Pods is for writes of pods.
	Pods() Pods
	// Objects is for what pods refer to.
	Objects() Objects
	// Tokens is for service account tokens.
	Tokens() Tokens
	// Claims is for the volumes of claims.
	Claims() Claims
	// Events is for what happened to objects.
	Events() Events
	// Reviews is for those who ask the node.
	Reviews() Reviews
}
