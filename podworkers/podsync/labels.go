package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
)

// The labels of sandboxes and containers. They are the kubelet's, so that existing tools work.
const (
	// LabelPodName is the name of the pod.
	LabelPodName = request.LabelPodName // "io.kubernetes.pod.name"
	// LabelPodNamespace is its namespace.
	LabelPodNamespace = request.LabelPodNamespace // "io.kubernetes.pod.namespace"
	// LabelPodUID is its UID.
	LabelPodUID = request.LabelPodUID // "io.kubernetes.pod.uid"
	// LabelContainerName is the name of the container; sandboxes have none.
	LabelContainerName = request.LabelContainerName // "io.kubernetes.container.name"
)

// Annotations of sandboxes and containers, besides the annotations of the pod. One of these names the source
// of the pod (podmanager.ConfigSourceAnnotation): a restarted agent does not stop the pod as an orphan before
// that source is complete.
const (
	// AnnotationPodHash, on a sandbox, is the PodHash of its pod.
	AnnotationPodHash = request.AnnotationPodHash
	// AnnotationClaim, on a sandbox, has the resources and host ports that the pod requests,
	// as JSON. An agent that does not know the pod counts these against the capacity of the node.
	AnnotationClaim = request.AnnotationClaim
	// AnnotationSpecHash, on a container, is the versioned hash of the fields whose change
	// restarts the container.
	AnnotationSpecHash = request.AnnotationSpecHash
	// AnnotationRestartCount, on a container, is its attempt.
	AnnotationRestartCount = request.AnnotationRestartCount // "io.kubernetes.container.restartCount"
)

// Annotations of containers. From them an agent can stop a container as its pod requires, even if
// the agent does not know the pod. All but the last are the kubelet's.
const (
	// AnnotationTerminationGracePeriod is the grace period of the spec, in seconds.
	AnnotationTerminationGracePeriod = request.AnnotationTerminationGracePeriod // "io.kubernetes.pod.terminationGracePeriod"
	// AnnotationDeletionGracePeriod is the grace period of the pod's deletion in seconds, if the pod
	// was being deleted when the container was created.
	AnnotationDeletionGracePeriod = request.AnnotationDeletionGracePeriod // "io.kubernetes.pod.deletionGracePeriod"
	// AnnotationPreStopHandler is the preStop hook, as JSON.
	AnnotationPreStopHandler = request.AnnotationPreStopHandler // "io.kubernetes.container.preStopHandler"
	// AnnotationPorts has the ports of the container as JSON, because a hook may name one.
	AnnotationPorts = request.AnnotationPorts // "io.kubernetes.container.ports"
	// AnnotationTerminationMessagePath is the path of the termination message. This package
	// writes it, as the kubelet does, for other tools, and does not read it.
	AnnotationTerminationMessagePath = request.AnnotationTerminationMessagePath // "io.kubernetes.container.terminationMessagePath"
	// AnnotationTerminationMessagePolicy is the policy of the termination message. This package
	// writes it for other tools and does not read it.
	AnnotationTerminationMessagePolicy = request.AnnotationTerminationMessagePolicy // "io.kubernetes.container.terminationMessagePolicy"
	// AnnotationStopOrder is the position of the container in the order in which the containers of
	// its pod stop. A container that stops first does not have it.
	AnnotationStopOrder = request.AnnotationStopOrder // "podkeel.dev/stop-order"
)

// PodHash returns the versioned hash of the fields that cannot change while a pod exists.
func PodHash(pod *v1.Pod) string { return podspec.PodHash(pod) }

// MatchesPodHash reports whether a hash may be the PodHash of a pod. It returns true for an empty hash
// and for a hash of another version, because these cannot be compared.
func MatchesPodHash(pod *v1.Pod, hash string) bool { return podspec.MatchesPodHash(pod, hash) }
