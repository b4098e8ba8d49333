package podsync

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
	"github.com/podkeel/podkeel/internal/podhash"
	podresources "github.com/podkeel/podkeel/internal/resources"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

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
	AnnotationPodHash = podhash.PodAnnotation
	// AnnotationClaim, on a sandbox, is what the pod requests of its node, host ports
	// included, as JSON: an agent that does not know the pod counts it by that.
	AnnotationClaim = podresources.ClaimAnnotation
	// AnnotationSpecHash, on a container, is the versioned hash of what forces
	// a restart when it changes.
	AnnotationSpecHash = podhash.SpecAnnotation
	// AnnotationRestartCount, on a container, is its attempt.
	AnnotationRestartCount = "io.kubernetes.container.restartCount"
)

// PodHash is the versioned hash of what can not change during the life of a pod.
func PodHash(pod *v1.Pod) string { return podhash.Pod(pod) }

// HasPodHash reports whether a pod may be the one whose PodHash that was. A hash of
// another version says nothing, and so does an empty one.
func HasPodHash(pod *v1.Pod, hash string) bool { return podhash.Matches(pod, hash) }

// sandboxRequest is what the runtime is told of a pod. Its error says what the
// spec asks for and cannot be.
func (s *Syncer) sandboxRequest(v *syncPass, attempt uint32) (runtime.RunSandboxRequest, error) {
	spec := &v.pod.Spec
	names, err := s.cfg.DNS.names(v.pod)
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	dns, warnings, err := s.cfg.DNS.resolver(v.pod)
	if err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	for _, text := range warnings {
		s.warn(v, "", eventDNS, "%s", text)
	}
	security := sandboxSecurity(spec)
	if err := s.locate(&security.Seccomp); err != nil {
		return runtime.RunSandboxRequest{}, err
	}
	req := runtime.RunSandboxRequest{
		Pod:         v.ref(),
		Attempt:     attempt,
		Labels:      labels(v.pod, v.pod.Labels),
		Annotations: cloned(v.pod.Annotations),
		Namespaces:  namespaces(spec),
		Hostname:    names.host,
		DNS:         dns,
		Ports:       ports(v.pod),
		Security:    security,
		Resources:   podResources(v.pod),
		LogDir:      s.logDir(v.pod),
	}
	req.Annotations[AnnotationPodHash] = podhash.Pod(v.pod)
	req.Annotations[AnnotationClaim] = claim(v.pod)
	if class := spec.RuntimeClassName; class != nil {
		req.Handler = s.cfg.Handlers[*class]
	}
	if spec.SecurityContext != nil {
		for _, sysctl := range spec.SecurityContext.Sysctls {
			if req.Sysctls == nil {
				req.Sysctls = make(map[string]string)
			}
			req.Sysctls[sysctl.Name] = sysctl.Value
		}
	}
	return req, nil
}

// claim is what the pod takes of its node. One that is too long for an annotation
// is left out: it counts as one pod then.
func claim(pod *v1.Pod) string {
	text := podresources.ClaimOf(pod).Text()
	if len(text) > stopAnnotationLimit {
		return ""
	}
	return text
}

// containerRequest is what the runtime is told of a container. Its error says
// what the spec asks for and cannot be.
func (s *Syncer) containerRequest(ctx context.Context, v *syncPass, st *plan.Held, sandbox string, image resolvedImage) (runtime.CreateContainerRequest, error) {
	c := st.Container
	security, err := security(v.pod, c, image)
	if err == nil {
		err = s.locate(&security.Seccomp)
	}
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	env, err := s.environment(ctx, v, c)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	mounts, err := s.mounts(ctx, v, c, &env, st.Attempt)
	if err != nil {
		return runtime.CreateContainerRequest{}, err
	}
	req := runtime.CreateContainerRequest{
		Pod:         v.ref(),
		SandboxID:   sandbox,
		Name:        c.Name,
		Attempt:     st.Attempt,
		Image:       c.Image,
		ImageRef:    image.ref,
		Command:     env.Command(),
		Args:        env.Args(),
		WorkingDir:  c.WorkingDir,
		Env:         env.Vars(),
		Mounts:      mounts,
		Resources:   resources(v.pod, c, s.cfg.MemoryBytes),
		Security:    security,
		Labels:      labels(v.pod, nil),
		Annotations: make(map[string]string),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		TTY:         c.TTY,
	}
	req.Labels[LabelContainerName] = c.Name
	setStopInfo(req.Annotations, v.pod, c)
	req.Annotations[AnnotationSpecHash] = podhash.Spec(c)
	req.Annotations[AnnotationRestartCount] = strconv.FormatUint(uint64(st.Attempt), 10)
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		req.StopSignal = string(*c.Lifecycle.StopSignal)
	}
	if s.cfg.LogRoot != "" {
		req.LogPath = fmt.Sprintf("%s/%d.log", c.Name, st.Attempt)
	}
	return req, nil
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

func (s *Syncer) logDir(pod *v1.Pod) string {
	if s.cfg.LogRoot == "" {
		return ""
	}
	return path.Join(s.cfg.LogRoot, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID))
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
	for c := range containers.Lasting(pod) {
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
