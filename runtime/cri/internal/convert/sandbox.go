package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// RunSandbox returns the CRI request for a sandbox.
func RunSandbox(req runtime.RunSandboxRequest, owner string) *cri.RunPodSandboxRequest {
	config := &cri.PodSandboxConfig{
		Metadata:     toCRISandboxMetadata(req.Pod, req.Attempt),
		Hostname:     req.Hostname,
		LogDirectory: req.LogDir,
		DnsConfig:    toCRIDNS(req.DNS),
		PortMappings: toCRIPorts(req.Ports),
		Labels:       labelsWithPodAndOwner(req.Labels, req.Pod, owner),
		Annotations:  annotationsWithIncarnation(req.Annotations, req.Pod),
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent:    req.CgroupDir,
			SecurityContext: toCRISandboxSecurity(&req.Security, req.Namespaces),
			Sysctls:         maps.Clone(req.Sysctls),
			Resources:       Resources(req.Resources),
			Overhead:        Resources(req.Overhead),
		},
	}
	if req.Namespaces.HostNetwork {
		config.Hostname = "" // The pod has the hostname of the host.
	}
	place, _ := json.Marshal(sandboxContext(&req)) // These types cannot fail.
	config.Annotations[AnnotationSandboxContext] = string(place)
	return &cri.RunPodSandboxRequest{Config: config, RuntimeHandler: req.Handler}
}

// sandboxConfigForContainer returns the sandbox config for a CreateContainer request. It has only the fields
// that runtimes need there.
func sandboxConfigForContainer(req *runtime.CreateContainerRequest, place SandboxContext, attempt uint32) *cri.PodSandboxConfig {
	return &cri.PodSandboxConfig{
		Metadata:     toCRISandboxMetadata(req.Pod, attempt),
		Hostname:     place.Hostname,
		LogDirectory: place.LogDir,
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent: place.CgroupDir,
			SecurityContext: &cri.LinuxSandboxSecurityContext{
				NamespaceOptions: toCRINamespaces(place.Namespaces), Privileged: place.Privileged,
			},
		},
	}
}

func toCRISandboxMetadata(pod runtime.PodRef, attempt uint32) *cri.PodSandboxMetadata {
	return &cri.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: attempt}
}

// toCRIDNS converts a DNS config. It returns nil for an empty config, with which the runtime uses the DNS
// config of the host.
func toCRIDNS(d runtime.DNS) *cri.DNSConfig {
	if len(d.Servers)+len(d.Searches)+len(d.Options) == 0 {
		return nil
	}
	return &cri.DNSConfig{Servers: d.Servers, Searches: d.Searches, Options: d.Options}
}

func toCRIPorts(mappings []runtime.PortMapping) []*cri.PortMapping {
	var out []*cri.PortMapping
	for _, p := range mappings {
		out = append(out, &cri.PortMapping{
			Protocol:      cri.Protocol(cri.Protocol_value[strings.ToUpper(p.Protocol)]), // TCP is zero
			ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIp: p.HostIP,
		})
	}
	return out
}

// toCRINamespaces converts namespace options. Each container has its own PID namespace unless the pod shares
// one or uses the host's. That mode is set explicitly because the zero value of CRI would share one.
func toCRINamespaces(n runtime.Namespaces) *cri.NamespaceOption {
	out := &cri.NamespaceOption{
		Network: nodeModeIf(n.HostNetwork, cri.NamespaceMode_POD),
		Ipc:     nodeModeIf(n.HostIPC, cri.NamespaceMode_POD),
	}
	processes := cri.NamespaceMode_CONTAINER
	if n.SharePID {
		processes = cri.NamespaceMode_POD
	}
	out.Pid = nodeModeIf(n.HostPID, processes)
	if n.Users != nil {
		out.UsernsOptions = &cri.UserNamespace{
			Mode: cri.NamespaceMode_POD, Uids: toCRIIDMappings(n.Users.UIDs), Gids: toCRIIDMappings(n.Users.GIDs),
		}
	}
	return out
}

// nodeModeIf returns the namespace mode NODE if host is true. If host is false, it returns the mode in the
// parameter otherwise.
func nodeModeIf(host bool, otherwise cri.NamespaceMode) cri.NamespaceMode {
	if host {
		return cri.NamespaceMode_NODE
	}
	return otherwise
}

func toCRIIDMappings(ranges []runtime.IDMapping) []*cri.IDMapping {
	var out []*cri.IDMapping
	for _, r := range ranges {
		out = append(out, &cri.IDMapping{HostId: r.HostID, ContainerId: r.ContainerID, Length: r.Length})
	}
	return out
}

// SandboxStatus merges the list entry and the CRI status of a sandbox.
func SandboxStatus(listed runtime.Sandbox, s *cri.PodSandboxStatus) runtime.SandboxStatus {
	out := runtime.SandboxStatus{Sandbox: listed}
	out.Ready = s.GetState() == cri.PodSandboxState_SANDBOX_READY
	if at := timeFromNanos(s.GetCreatedAt()); !at.IsZero() {
		out.CreatedAt = at
	}
	out.HostNetwork = s.GetLinux().GetNamespaces().GetOptions().GetNetwork() == cri.NamespaceMode_NODE
	if out.HostNetwork {
		return out
	}
	if ip := s.GetNetwork().GetIp(); ip != "" {
		out.IPs = append(out.IPs, ip)
	}
	for _, ip := range s.GetNetwork().GetAdditionalIps() {
		if ip := ip.GetIp(); ip != "" && !slices.Contains(out.IPs, ip) {
			out.IPs = append(out.IPs, ip)
		}
	}
	return out
}

// timeFromNanos converts nanoseconds since 1970 to a time. Zero and negative values give the zero time.
func timeFromNanos(nanoseconds int64) time.Time {
	if nanoseconds <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}
