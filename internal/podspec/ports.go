package podspec

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// HostPort is a port that a pod uses on the host.
type HostPort struct {
	IP       string      `json:"ip,omitempty"` // never empty in the result of HostPorts
	Protocol v1.Protocol `json:"protocol,omitempty"`
	Port     int32       `json:"port"`
}

// String formats the port as 0.0.0.0:80/TCP.
func (p HostPort) String() string { return fmt.Sprintf("%s:%d/%s", p.IP, p.Port, p.Protocol) }

// Conflicts reports whether two pods cannot use these ports at the same time. The wildcard address conflicts with every
// address.
func (p HostPort) Conflicts(q HostPort) bool {
	return p.Port == q.Port && p.Protocol == q.Protocol &&
		(p.IP == q.IP || p.IP == wildcardIP || q.IP == wildcardIP)
}

const wildcardIP = "0.0.0.0"

// HostPorts lists the host ports of a pod. Ports of ordinary init containers count only in the host's network, because
// they are not published otherwise. The caller owns the list.
func HostPorts(pod *v1.Pod) []HostPort {
	var ports []HostPort
	containers := LongRunningContainers(pod)
	if pod.Spec.HostNetwork {
		containers = AllContainers(pod)
	}
	for c := range containers {
		for _, p := range c.Ports {
			if h := hostPort(p, pod.Spec.HostNetwork); h.Port > 0 {
				ports = append(ports, h)
			}
		}
	}
	return ports
}

// hostPort returns the host port that a container port uses. The Port in the result is 0 if the container port
// uses none. With hostNetwork a missing host port is the container port. A missing address, or ::, is the
// wildcard address, and a missing protocol is TCP.
func hostPort(p v1.ContainerPort, hostNetwork bool) HostPort {
	h := HostPort{IP: p.HostIP, Protocol: p.Protocol, Port: p.HostPort}
	if hostNetwork && h.Port == 0 {
		h.Port = p.ContainerPort
	}
	if h.IP == "" || h.IP == "::" {
		h.IP = wildcardIP
	}
	h.Protocol = cmp.Or(h.Protocol, v1.ProtocolTCP)
	return h
}
