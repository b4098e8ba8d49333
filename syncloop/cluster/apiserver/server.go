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

// PodRef identifies one incarnation of a pod at the server.
type PodRef struct {
	Namespace, Name string
	// UID is the UID at the server. For a static pod it is the UID of the mirror pod. It is a precondition, so that a
	// later pod with the same name is not affected.
	UID types.UID
}

// Pods reads and writes pods of the node.
type Pods interface {
	// Get returns a pod by name.
	Get(ctx context.Context, namespace, name string) (*v1.Pod, error)
	// Create creates a pod; a node may create only mirror pods.
	Create(ctx context.Context, pod *v1.Pod) (*v1.Pod, error)
	// PatchStatus applies a strategic merge patch to the status and returns the pod. The patch has ref.UID in its
	// metadata. If the pod has another UID, the reason is Conflict.
	PatchStatus(ctx context.Context, ref PodRef, patch []byte) (*v1.Pod, error)
	// Delete deletes a pod with this UID as precondition. If the pod has another UID, the reason is Conflict.
	// gracePeriodSeconds zero removes the pod at once; nil means the pod's own grace period.
	Delete(ctx context.Context, ref PodRef, gracePeriodSeconds *int64) error
}

// Nodes reads and writes the Node object of the node.
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

// Leases reads and writes the node's lease in kube-node-lease. An implementation uses separate connections for it, so
// that heartbeats do not wait for other requests.
type Leases interface {
	// Get returns the lease.
	Get(ctx context.Context, name string) (*coordinationv1.Lease, error)
	// Create creates the lease.
	Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	// Update renews the lease. If the resource version is not the newest, the reason is Conflict.
	Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
}

// Objects reads objects that pods refer to. A node may read only single objects that its pods refer to. The server
// refuses other objects with reason Forbidden. For a moment it also refuses objects of a pod that was just bound.
type Objects interface {
	// ConfigMap returns the feed of one ConfigMap.
	ConfigMap(namespace, name string) Feed[*v1.ConfigMap]
	// Secret returns the feed of one Secret.
	Secret(namespace, name string) Feed[*v1.Secret]
	// Services returns the feed of all services with a cluster IP.
	Services() Feed[*v1.Service]
	// RuntimeClasses returns the feed of all runtime classes.
	RuntimeClasses() Feed[*nodev1.RuntimeClass]
}

// Tokens requests tokens of service accounts.
type Tokens interface {
	// CreateToken requests a token of the service account, bound to a pod of this node.
	CreateToken(ctx context.Context, namespace, serviceAccount string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
}

// Claims reads persistent volume claims of pods and their volumes. A node may read only claims of its pods.
type Claims interface {
	// GetClaim returns a claim.
	GetClaim(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error)
	// GetVolume returns the volume of a claim.
	GetVolume(ctx context.Context, name string) (*v1.PersistentVolume, error)
}

// Events records events about objects.
type Events interface {
	// CreateEvent records a new event.
	CreateEvent(ctx context.Context, event *v1.Event) (*v1.Event, error)
	// PatchEvent applies a strategic merge patch to an existing event.
	PatchEvent(ctx context.Context, namespace, name string, patch []byte) (*v1.Event, error)
}

// Reviews authenticates and authorizes clients of the node's own API.
type Reviews interface {
	// CreateTokenReview asks the server for the user of a token.
	CreateTokenReview(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error)
	// CreateSubjectAccessReview asks the server whether a user may do something.
	CreateSubjectAccessReview(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error)
}

// NodeServer has the requests that maintain a Node object.
type NodeServer interface {
	// NodeFeed returns the feed of the node's own object. The feed is empty before the registration.
	NodeFeed() Feed[*v1.Node]
	// Nodes reads and writes the Node object.
	Nodes() Nodes
	// Leases writes the heartbeat.
	Leases() Leases
}

// Server has all requests of a node to an API server.
type Server interface {
	NodeServer
	// PodFeed returns the feed of the pods that are bound to the node.
	PodFeed() Feed[*v1.Pod]
	// Pods writes pods.
	Pods() Pods
	// Objects reads objects that pods refer to.
	Objects() Objects
	// Tokens requests service account tokens.
	Tokens() Tokens
	// Claims reads claims and volumes.
	Claims() Claims
	// Events records events.
	Events() Events
	// Reviews authenticates and authorizes clients of the node.
	Reviews() Reviews
}
