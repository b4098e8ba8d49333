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

// SandboxRequest returns the request that creates a sandbox, and the warnings of DNSConfig. host is the
// resolver configuration of the host. The error names a field of the spec that cannot be honoured.
func (n *Node) SandboxRequest(pod *v1.Pod, ref runtime.PodRef, attempt uint32, host runtime.DNS) (runtime.RunSandboxRequest, []string, error) {
	spec := &pod.Spec
	names, err := n.Hostnames(pod)
	if err != nil {
		return runtime.RunSandboxRequest{}, nil, err
	}
	dns, warnings, err := n.DNSConfig(pod, host)
	if err != nil {
		return runtime.RunSandboxRequest{}, nil, err
	}
	security := sandboxSecurity(pod)
	if err := n.resolveSeccompPath(&security.Seccomp); err != nil {
		return runtime.RunSandboxRequest{}, warnings, err
	}
	req := runtime.RunSandboxRequest{
		Pod:         ref,
		Attempt:     attempt,
		Labels:      withPodLabels(pod, limitMetadata(pod.Labels)),
		Annotations: limitMetadata(pod.Annotations),
		Namespaces:  namespacesOf(spec),
		Hostname:    names.Host,
		DNS:         dns,
		Ports:       hostPortMappings(pod),
		Sysctls:     sysctlsOf(spec.SecurityContext),
		Security:    security,
		Resources:   sandboxResources(pod),
		Overhead:    overheadResources(pod),
		LogDir:      n.podLogDir(pod),
	}
	req.Annotations[AnnotationPodHash] = podspec.PodHash(pod)
	req.Annotations[AnnotationClaim] = requestsAndHostPortsAnnotation(pod)
	if class := spec.RuntimeClassName; class != nil && *class != "" {
		req.Handler = n.Handlers[*class]
	}
	return req, warnings, nil
}

// sysctlsOf returns the sysctls in a pod's security context by name. It returns nil if there are none.
func sysctlsOf(own *v1.PodSecurityContext) map[string]string {
	if own == nil || len(own.Sysctls) == 0 {
		return nil
	}
	out := make(map[string]string, len(own.Sysctls))
	for _, sysctl := range own.Sysctls {
		out[sysctl.Name] = sysctl.Value
	}
	return out
}

// requestsAndHostPortsAnnotation returns the value of the sandbox annotation with the pod's resource requests
// and host ports. A restarted agent reads them from it. It returns "" if the value is too long. A restarted
// agent then assumes that the pod has no requests and host ports.
func requestsAndHostPortsAnnotation(pod *v1.Pod) string {
	text := podspec.ClaimForPod(pod).AnnotationValue()
	if len(text) > stopAnnotationLimit {
		return ""
	}
	return text
}

// withPodLabels returns a copy of own with the labels for the pod's name, namespace and UID. These replace
// labels of the same names.
func withPodLabels(pod *v1.Pod, own map[string]string) map[string]string {
	l := cloneOrMake(own)
	l[LabelPodName], l[LabelPodNamespace], l[LabelPodUID] = pod.Name, pod.Namespace, string(pod.UID)
	return l
}

// maxMetadataBytes bounds the labels, and the annotations, that a sandbox gets from its pod. An API
// server accepts 256 KiB of annotations and any number of labels. A runtime lists all sandboxes in one
// message of at most 16 MiB. Without this bound a few dozen pods could make the list of all pods fail.
const maxMetadataBytes = 16 << 10

// sourceAnnotation is podmanager.ConfigSourceAnnotation.
const sourceAnnotation = "kubernetes.io/config.source"

// isRestrictingAnnotation reports whether an annotation restricts the pod: it sets an ingress or egress
// bandwidth, or a seccomp or AppArmor profile.
func isRestrictingAnnotation(key string) bool {
	switch key {
	case "kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth", v1.SeccompPodAnnotationKey:
		return true
	}
	return strings.HasPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) ||
		strings.HasPrefix(key, v1.SeccompContainerAnnotationKeyPrefix)
}

// limitMetadata returns a copy of labels or annotations without the longest ones, so that the rest has at most
// maxMetadataBytes. Annotations that restrict the pod are removed last. The annotation of the pod's source is
// never removed, even if the limit is exceeded, because a restarted agent needs it.
func limitMetadata(m map[string]string) map[string]string {
	kept, total := cloneOrMake(m), 0
	for key, value := range m {
		total += len(key) + len(value)
	}
	rank := func(key string) int {
		if isRestrictingAnnotation(key) {
			return 1
		}
		return 0
	}
	order := func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(b)+len(m[b]), len(a)+len(m[a])), cmp.Compare(a, b))
	}
	for _, key := range slices.SortedFunc(maps.Keys(m), order) {
		if total > maxMetadataBytes && key != sourceAnnotation {
			delete(kept, key)
			total -= len(key) + len(m[key])
		}
	}
	return kept
}

// cloneOrMake returns a copy of a map, or a new empty map for nil.
func cloneOrMake(m map[string]string) map[string]string {
	if m == nil {
		return make(map[string]string)
	}
	return maps.Clone(m)
}

// podLogDir returns the log directory of a pod: LogRoot/namespace_name_uid. It returns "" if LogRoot is not
// set.
func (n *Node) podLogDir(pod *v1.Pod) string {
	if n.LogRoot == "" {
		return ""
	}
	return path.Join(n.LogRoot, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID))
}

// namespacesOf returns which host namespaces (network, PID, IPC) a pod uses, and whether its containers share
// one process namespace.
func namespacesOf(spec *v1.PodSpec) runtime.Namespaces {
	return runtime.Namespaces{
		HostNetwork: spec.HostNetwork,
		HostPID:     spec.HostPID,
		HostIPC:     spec.HostIPC,
		SharePID:    spec.ShareProcessNamespace != nil && *spec.ShareProcessNamespace,
	}
}

// hostPortMappings returns the host ports of the pod's sidecars and regular containers, with TCP as the default
// protocol. It returns nil for a pod in the host network.
func hostPortMappings(pod *v1.Pod) []runtime.PortMapping {
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

// The labels of sandboxes and containers. They are the kubelet's, so that existing tools work.
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

// Annotations of sandboxes and containers, besides the annotations of the pod. One of these names the
// source of the pod (podmanager.ConfigSourceAnnotation). A restarted agent does not kill the pod as an
// orphan before that source is complete.
const (
	// AnnotationPodHash, on a sandbox, is the versioned hash of the fields that cannot change while
	// its pod exists.
	AnnotationPodHash = podspec.PodHashAnnotation
	// AnnotationClaim, on a sandbox, has the resources and host ports that the pod requests,
	// as JSON. An agent that does not know the pod counts these against the capacity of the node.
	AnnotationClaim = podspec.ClaimAnnotation
	// AnnotationSpecHash, on a container, is the versioned hash of the fields whose change
	// restarts the container.
	AnnotationSpecHash = podspec.ContainerHashAnnotation
	// AnnotationRestartCount, on a container, is its attempt.
	AnnotationRestartCount = "io.kubernetes.container.restartCount"
	// AnnotationAdditions, on a container, has the devices and other parts that come from the node and
	// not from the spec, as JSON.
	AnnotationAdditions = "podkeel.dev/additions"
)

// Annotations of containers. From them an agent can stop a container as its pod requires, even if
// the agent does not know the pod. All but the last are the kubelet's.
const (
	// AnnotationTerminationGracePeriod is the grace period of the spec, in seconds.
	AnnotationTerminationGracePeriod = "io.kubernetes.pod.terminationGracePeriod"
	// AnnotationDeletionGracePeriod is the grace period of the pod's deletion in seconds, if the pod
	// was being deleted when the container was created.
	AnnotationDeletionGracePeriod = "io.kubernetes.pod.deletionGracePeriod"
	// AnnotationPreStopHandler is the preStop hook, as JSON.
	AnnotationPreStopHandler = "io.kubernetes.container.preStopHandler"
	// AnnotationPorts has the ports of the container as JSON, because a hook may name one.
	AnnotationPorts = "io.kubernetes.container.ports"
	// AnnotationTerminationMessagePath is the path of the termination message. This package
	// writes it, as the kubelet does, for other tools, and does not read it.
	AnnotationTerminationMessagePath = "io.kubernetes.container.terminationMessagePath"
	// AnnotationTerminationMessagePolicy is the policy of the termination message. This package
	// writes it for other tools and does not read it.
	AnnotationTerminationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy"
	// AnnotationStopOrder is the position of the container in the order in which the containers of
	// its pod stop. A container that stops first does not have it.
	AnnotationStopOrder = "podkeel.dev/stop-order"
)
