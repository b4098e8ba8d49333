package podspec

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// HostPort is a port of the host that a pod takes.
type HostPort struct {
	IP       string      `json:"ip,omitempty"` // never empty in what HostPorts returns
	Protocol v1.Protocol `json:"protocol,omitempty"`
	Port     int32       `json:"port"`
}

// String is the port as people write it: 0.0.0.0:80/TCP.
func (p HostPort) String() string { return fmt.Sprintf("%s:%d/%s", p.IP, p.Port, p.Protocol) }

// Conflicts reports whether two pods cannot have these ports at the same time.
// The wildcard address conflicts with every other.
func (p HostPort) Conflicts(q HostPort) bool {
	return p.Port == q.Port && p.Protocol == q.Protocol &&
		(p.IP == q.IP || p.IP == anyIP || q.IP == anyIP)
}

const anyIP = "0.0.0.0"

// HostPorts lists the host ports of a pod. What its ordinary init containers
// listen at is not published, but in the host's network it is there by itself.
// The list is the caller's.
func HostPorts(pod *v1.Pod) []HostPort {
	var ports []HostPort
	listening := LongRunningContainers(pod)
	if pod.Spec.HostNetwork {
		listening = AllContainers(pod)
	}
	for c := range listening {
		for _, p := range c.Ports {
			if h := hostPort(p, pod.Spec.HostNetwork); h.Port > 0 {
				ports = append(ports, h)
			}
		}
	}
	return ports
}

// hostPort is what a port takes of the host. In the host's network that is the
// container's own port, whether the pod was defaulted to say so or not.
func hostPort(p v1.ContainerPort, hostNetwork bool) HostPort {
	h := HostPort{IP: p.HostIP, Protocol: p.Protocol, Port: p.HostPort}
	if hostNetwork && h.Port == 0 {
		h.Port = p.ContainerPort
	}
	if h.IP == "" || h.IP == "::" {
		h.IP = anyIP
	}
	h.Protocol = cmp.Or(h.Protocol, v1.ProtocolTCP)
	return h
}
