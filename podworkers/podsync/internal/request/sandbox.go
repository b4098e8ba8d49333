package request

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// Sandbox is what the runtime is asked for. host is the resolver configuration of the host,
// see DNS, whose warnings it passes on. Its error says what the spec asks for and cannot be.
func (n *Node) Sandbox(pod *v1.Pod, ref runtime.PodRef, attempt uint32, host runtime.DNS) (runtime.RunSandboxRequest, []string, error) {
	spec := &pod.Spec
	names, err := n.Names(pod)
	if err != nil {
		return runtime.RunSandboxRequest{}, nil, err
	}
	dns, warnings, err := n.DNS(pod, host)
	if err != nil {
		return runtime.RunSandboxRequest{}, nil, err
	}
	security := sandboxSecurity(pod)
	if err := n.locate(&security.Seccomp); err != nil {
		return runtime.RunSandboxRequest{}, warnings, err
	}
	req := runtime.RunSandboxRequest{
		Pod:         ref,
		Attempt:     attempt,
		Labels:      labels(pod, bounded(pod.Labels)),
		Annotations: bounded(pod.Annotations),
		Namespaces:  namespaces(spec),
		Hostname:    names.Host,
		DNS:         dns,
		Ports:       ports(pod),
		Sysctls:     sysctls(spec.SecurityContext),
		Security:    security,
		Resources:   podResources(pod),
		LogDir:      n.logDir(pod),
	}
	req.Annotations[AnnotationPodHash] = podspec.PodHash(pod)
	req.Annotations[AnnotationClaim] = claim(pod)
	if class := spec.RuntimeClassName; class != nil && *class != "" {
		req.Handler = n.Handlers[*class]
	}
	return req, warnings, nil
}

func sysctls(own *v1.PodSecurityContext) map[string]string {
	if own == nil || len(own.Sysctls) == 0 {
		return nil
	}
	out := make(map[string]string, len(own.Sysctls))
	for _, sysctl := range own.Sysctls {
		out[sysctl.Name] = sysctl.Value
	}
	return out
}

// claim is what the pod takes of its node. One that is too long for an annotation
// is left out: it counts as one pod then.
func claim(pod *v1.Pod) string {
	text := podspec.ClaimForPod(pod).AnnotationValue()
	if len(text) > stopAnnotationLimit {
		return ""
	}
	return text
}

func labels(pod *v1.Pod, own map[string]string) map[string]string {
	l := cloned(own)
	l[LabelPodName], l[LabelPodNamespace], l[LabelPodUID] = pod.Name, pod.Namespace, string(pod.UID)
	return l
}

// longestMetadata bounds the labels and the annotations that a sandbox has of its pod, in bytes each. An API
// server takes 256 KiB of annotations and any number of labels, but a runtime lists all sandboxes in one
// message of 16 MiB at most: without a bound a few dozen pods would have the node lose sight of all its pods.
const longestMetadata = 16 << 10

// sourceAnnotation is podmanager.ConfigSourceAnnotation.
const sourceAnnotation = "kubernetes.io/config.source"

// isRestriction reports whether network plugins and runtimes restrict a pod by an annotation: such a one is left
// out only if all of them are too long together.
func isRestriction(key string) bool {
	switch key {
	case "kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth", v1.SeccompPodAnnotationKey:
		return true
	}
	return strings.HasPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) ||
		strings.HasPrefix(key, v1.SeccompContainerAnnotationKeyPrefix)
}

// bounded is a copy of labels or annotations, without the longest ones if they are too long together.
// That of the source stays: by it an agent that is started again knows whose pod the sandbox is.
func bounded(m map[string]string) map[string]string {
	kept, total := cloned(m), 0
	for key, value := range m {
		total += len(key) + len(value)
	}
	rank := func(key string) int {
		if isRestriction(key) {
			return 1
		}
		return 0
	}
	order := func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(b)+len(m[b]), len(a)+len(m[a])), cmp.Compare(a, b))
	}
	for _, key := range slices.SortedFunc(maps.Keys(m), order) {
		if total > longestMetadata && key != sourceAnnotation {
			delete(kept, key)
			total -= len(key) + len(m[key])
		}
	}
	return kept
}

// cloned is a copy that can be written to.
func cloned(m map[string]string) map[string]string {
	if m == nil {
		return make(map[string]string)
	}
	return maps.Clone(m)
}

func (n *Node) logDir(pod *v1.Pod) string {
	if n.LogRoot == "" {
		return ""
	}
	return path.Join(n.LogRoot, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID))
}

func namespaces(spec *v1.PodSpec) runtime.Namespaces {
	return runtime.Namespaces{
		HostNetwork: spec.HostNetwork,
		HostPID:     spec.HostPID,
		HostIPC:     spec.HostIPC,
		SharePID:    spec.ShareProcessNamespace != nil && *spec.ShareProcessNamespace,
	}
}

// ports are those that the pod publishes on the host: of what is there as long
// as the pod is, which is its sidecars and regular containers. With the host's
// network they are there already.
func ports(pod *v1.Pod) []runtime.PortMapping {
	var out []runtime.PortMapping
	if pod.Spec.HostNetwork {
		return nil
	}
	for c := range podspec.LongRunningContainers(pod) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			protocol := string(p.Protocol)
			protocol = cmp.Or(protocol, string(v1.ProtocolTCP))
			out = append(out, runtime.PortMapping{
				ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: protocol,
			})
		}
	}
	return out
}

// Labels of sandboxes and containers: the kubelet's, so that people and tools
// find what they know.
const (
	// LabelPodName is the name of the pod.
	LabelPodName = "io.kubernetes.pod.name"
	// LabelPodNamespace is its namespace.
	LabelPodNamespace = "io.kubernetes.pod.namespace"
	// LabelPodUID is its UID.
	LabelPodUID = "io.kubernetes.pod.uid"
	// LabelContainerName is the name of the container; sandboxes have none.
	LabelContainerName = "io.kubernetes.container.name"
)

// Annotations of sandboxes and containers, besides those of the pod; among these is
// its source (podmanager.ConfigSourceAnnotation), by which an agent that is started
// again knows who may say that nobody wants it.
const (
	// AnnotationPodHash, on a sandbox, is the versioned hash of what can not
	// change during the life of the pod it was made for.
	AnnotationPodHash = podspec.PodHashAnnotation
	// AnnotationClaim, on a sandbox, is what the pod requests of its node, host ports
	// included, as JSON: an agent that does not know the pod counts it by that.
	AnnotationClaim = podspec.ClaimAnnotation
	// AnnotationSpecHash, on a container, is the versioned hash of what forces
	// a restart when it changes.
	AnnotationSpecHash = podspec.ContainerHashAnnotation
	// AnnotationRestartCount, on a container, is its attempt.
	AnnotationRestartCount = "io.kubernetes.container.restartCount"
)

// Annotations of containers from which one can be stopped as its pod asked for
// when the pod is not known any more. All but the last are the kubelet's.
const (
	// AnnotationTerminationGracePeriod is the grace of the spec, in seconds.
	AnnotationTerminationGracePeriod = "io.kubernetes.pod.terminationGracePeriod"
	// AnnotationDeletionGracePeriod is the grace of a deletion that had been
	// asked for when the container was made, in seconds.
	AnnotationDeletionGracePeriod = "io.kubernetes.pod.deletionGracePeriod"
	// AnnotationPreStopHandler is the preStop hook, as JSON.
	AnnotationPreStopHandler = "io.kubernetes.container.preStopHandler"
	// AnnotationPorts are the container's ports, as JSON: a hook may name one.
	AnnotationPorts = "io.kubernetes.container.ports"
	// AnnotationTerminationMessagePath is the path of its termination message. Like the
	// next one it is written for other tools that know it from the kubelet. It is not
	// read here: no status is published for an orphan, and for any other pod the spec
	// has the path.
	AnnotationTerminationMessagePath = "io.kubernetes.container.terminationMessagePath"
	// AnnotationTerminationMessagePolicy says what stands in for them, for others.
	AnnotationTerminationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy"
	// AnnotationStopOrder is the container's place in the order in which those
	// of a pod are stopped, if it is not among the first.
	AnnotationStopOrder = "podkeel.dev/stop-order"
)
