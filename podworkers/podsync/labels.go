package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
)

// Labels of sandboxes and containers: the kubelet's, so that people and tools
// find what they know.
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
// of the pod (podmanager.ConfigSourceAnnotation): a restarted agent does not kill the pod as an orphan before
// that source is complete.
const (
	// AnnotationPodHash, on a sandbox, is the versioned hash of what can not
	// change during the life of the pod it was made for.
	AnnotationPodHash = request.AnnotationPodHash
	// AnnotationClaim, on a sandbox, is what the pod requests of its node, host ports
	// included, as JSON: an agent that does not know the pod counts it by that.
	AnnotationClaim = request.AnnotationClaim
	// AnnotationSpecHash, on a container, is the versioned hash of what forces
	// a restart when it changes.
	AnnotationSpecHash = request.AnnotationSpecHash
	// AnnotationRestartCount, on a container, is its attempt.
	AnnotationRestartCount = request.AnnotationRestartCount // "io.kubernetes.container.restartCount"
)

// Annotations of containers from which one can be stopped as its pod asked for
// when the pod is not known any more. All but the last are the kubelet's.
const (
	// AnnotationTerminationGracePeriod is the grace of the spec, in seconds.
	AnnotationTerminationGracePeriod = request.AnnotationTerminationGracePeriod // "io.kubernetes.pod.terminationGracePeriod"
	// AnnotationDeletionGracePeriod is the grace of a deletion that had been
	// asked for when the container was made, in seconds.
	AnnotationDeletionGracePeriod = request.AnnotationDeletionGracePeriod // "io.kubernetes.pod.deletionGracePeriod"
	// AnnotationPreStopHandler is the preStop hook, as JSON.
	AnnotationPreStopHandler = request.AnnotationPreStopHandler // "io.kubernetes.container.preStopHandler"
	// AnnotationPorts are the container's ports, as JSON: a hook may name one.
	AnnotationPorts = request.AnnotationPorts // "io.kubernetes.container.ports"
	// AnnotationTerminationMessagePath is the path of its termination message. Like the
	// next one it is written for other tools that know it from the kubelet. It is not
	// read here: no status is published for an orphan, and for any other pod the spec
	// has the path.
	AnnotationTerminationMessagePath = request.AnnotationTerminationMessagePath // "io.kubernetes.container.terminationMessagePath"
	// AnnotationTerminationMessagePolicy says what stands in for them, for others.
	AnnotationTerminationMessagePolicy = request.AnnotationTerminationMessagePolicy // "io.kubernetes.container.terminationMessagePolicy"
	// AnnotationStopOrder is the container's place in the order in which those
	// of a pod are stopped, if it is not among the first.
	AnnotationStopOrder = request.AnnotationStopOrder // "podkeel.dev/stop-order"
)

// PodHash is the versioned hash of what can not change during the life of a pod.
func PodHash(pod *v1.Pod) string { return podspec.PodHash(pod) }

// MatchesPodHash reports whether a hash may be the PodHash of a pod. It returns true for an empty hash
// and for a hash of another version, because these cannot be compared.
func MatchesPodHash(pod *v1.Pod, hash string) bool { return podspec.MatchesPodHash(pod, hash) }
