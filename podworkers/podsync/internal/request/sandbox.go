package request

import (
	"maps"
	"path"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podhash"
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
	security := sandboxSecurity(spec)
	if err := n.locate(&security.Seccomp); err != nil {
		return runtime.RunSandboxRequest{}, warnings, err
	}
	req := runtime.RunSandboxRequest{
		Pod:         ref,
		Attempt:     attempt,
		Labels:      labels(pod, pod.Labels),
		Annotations: cloned(pod.Annotations),
		Namespaces:  namespaces(spec),
		Hostname:    names.Host,
		DNS:         dns,
		Ports:       ports(pod),
		Sysctls:     sysctls(spec.SecurityContext),
		Security:    security,
		Resources:   podResources(pod),
		LogDir:      n.logDir(pod),
	}
	req.Annotations[AnnotationPodHash] = podhash.Pod(pod)
	req.Annotations[AnnotationClaim] = claim(pod)
	if class := spec.RuntimeClassName; class != nil {
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
	text := podspec.ClaimOf(pod).Text()
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
	for c := range podspec.Lasting(pod) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			protocol := string(p.Protocol)
			if protocol == "" {
				protocol = string(v1.ProtocolTCP)
			}
			out = append(out, runtime.PortMapping{
				ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: protocol,
			})
		}
	}
	return out
}
