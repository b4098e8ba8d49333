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

// RunSandbox is the request for a sandbox of an owner.
func RunSandbox(req runtime.RunSandboxRequest, owner string) *cri.RunPodSandboxRequest {
	config := &cri.PodSandboxConfig{
		Metadata:     metadata(req.Pod, req.Attempt),
		Hostname:     req.Hostname,
		LogDirectory: req.LogDir,
		DnsConfig:    dns(req.DNS),
		PortMappings: ports(req.Ports),
		Labels:       labels(req.Labels, req.Pod, owner),
		Annotations:  annotations(req.Annotations, req.Pod),
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent:    req.CgroupDir,
			SecurityContext: sandboxSecurity(&req.Security, req.Namespaces),
			Sysctls:         maps.Clone(req.Sysctls),
			Resources:       Resources(req.Resources),
		},
	}
	if req.Namespaces.HostNetwork {
		config.Hostname = "" // The host has one.
	}
	place, _ := json.Marshal(placeOf(&req)) // Strings, numbers and booleans can be written.
	config.Annotations[AnnotationPlace] = string(place)
	return &cri.RunPodSandboxRequest{Config: config, RuntimeHandler: req.Handler}
}

// sandboxAgain is as much of a sandbox's config as its containers need.
func sandboxAgain(req *runtime.CreateContainerRequest, place Place, attempt uint32) *cri.PodSandboxConfig {
	return &cri.PodSandboxConfig{
		Metadata:     metadata(req.Pod, attempt),
		Hostname:     place.Hostname,
		LogDirectory: place.LogDir,
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent: place.CgroupDir,
			SecurityContext: &cri.LinuxSandboxSecurityContext{
				NamespaceOptions: namespaces(place.Namespaces), Privileged: place.Privileged,
			},
		},
	}
}

func metadata(pod runtime.PodRef, attempt uint32) *cri.PodSandboxMetadata {
	return &cri.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: attempt}
}

// dns is nil for the host's own.
func dns(d runtime.DNS) *cri.DNSConfig {
	if len(d.Servers)+len(d.Searches)+len(d.Options) == 0 {
		return nil
	}
	return &cri.DNSConfig{Servers: d.Servers, Searches: d.Searches, Options: d.Options}
}

func ports(mappings []runtime.PortMapping) []*cri.PortMapping {
	var out []*cri.PortMapping
	for _, p := range mappings {
		out = append(out, &cri.PortMapping{
			Protocol:      cri.Protocol(cri.Protocol_value[strings.ToUpper(p.Protocol)]), // TCP is zero
			ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIp: p.HostIP,
		})
	}
	return out
}

// namespaces says for each namespace whose it is. A container has its own
// processes unless the pod shares them; POD, which is zero, would share them.
func namespaces(n runtime.Namespaces) *cri.NamespaceOption {
	out := &cri.NamespaceOption{
		Network: ofHost(n.HostNetwork, cri.NamespaceMode_POD),
		Ipc:     ofHost(n.HostIPC, cri.NamespaceMode_POD),
	}
	processes := cri.NamespaceMode_CONTAINER
	if n.SharePID {
		processes = cri.NamespaceMode_POD
	}
	out.Pid = ofHost(n.HostPID, processes)
	if n.Users != nil {
		out.UsernsOptions = &cri.UserNamespace{
			Mode: cri.NamespaceMode_POD, Uids: idMappings(n.Users.UIDs), Gids: idMappings(n.Users.GIDs),
		}
	}
	return out
}

func ofHost(host bool, otherwise cri.NamespaceMode) cri.NamespaceMode {
	if host {
		return cri.NamespaceMode_NODE
	}
	return otherwise
}

func idMappings(ranges []runtime.IDMapping) []*cri.IDMapping {
	var out []*cri.IDMapping
	for _, r := range ranges {
		out = append(out, &cri.IDMapping{HostId: r.HostID, ContainerId: r.ContainerID, Length: r.Length})
	}
	return out
}

// SandboxStatus is a sandbox in full: what the list has said of it, and what
// its status adds.
func SandboxStatus(listed runtime.Sandbox, s *cri.PodSandboxStatus) runtime.SandboxStatus {
	out := runtime.SandboxStatus{Sandbox: listed}
	out.Ready = s.GetState() == cri.PodSandboxState_SANDBOX_READY
	if at := when(s.GetCreatedAt()); !at.IsZero() {
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

// when is a time in nanoseconds; zero and what was before is none.
func when(nanoseconds int64) time.Time {
	if nanoseconds <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}
