package syncloop

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
)

// AdmitHostPorts refuses a pod that wants a host port which an active pod
// holds.
func AdmitHostPorts() PodAdmitHandler {
	return PodAdmitFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		wanted := hostPorts(attrs.Pod)
		if len(wanted) == 0 {
			return admitted
		}
		for _, other := range attrs.OtherPods {
			for _, held := range hostPorts(other) {
				for _, want := range wanted {
					if want.conflicts(held) {
						return PodAdmitResult{
							Reason:  "NodePorts",
							Message: fmt.Sprintf("host port %s is taken by pod %s/%s", want, other.Namespace, other.Name),
						}
					}
				}
			}
		}
		return admitted
	})
}

// hostPort is one claim on an address of the host.
type hostPort struct {
	ip       string
	protocol v1.Protocol
	port     int32
}

func (p hostPort) String() string { return fmt.Sprintf("%s:%d/%s", p.ip, p.port, p.protocol) }

// conflicts: the wildcard address meets every other.
func (p hostPort) conflicts(q hostPort) bool {
	return p.port == q.port && p.protocol == q.protocol &&
		(p.ip == q.ip || p.ip == anyIP || q.ip == anyIP)
}

const anyIP = "0.0.0.0"

// hostPorts lists the claims of a pod. What its ordinary init containers listen
// at is not published, but in the host's network it is there by itself.
func hostPorts(pod *v1.Pod) []hostPort {
	var ports []hostPort
	listening := containers.Lasting(pod)
	if pod.Spec.HostNetwork {
		listening = containers.All(pod)
	}
	for c := range listening {
		for _, p := range c.Ports {
			if h := claim(p, pod.Spec.HostNetwork); h.port > 0 {
				ports = append(ports, h)
			}
		}
	}
	return ports
}

// claim is what a port takes of the host. In the host's network that is the
// container's own port, whether the pod was defaulted to say so or not.
func claim(p v1.ContainerPort, hostNetwork bool) hostPort {
	h := hostPort{ip: p.HostIP, protocol: p.Protocol, port: p.HostPort}
	if hostNetwork && h.port == 0 {
		h.port = p.ContainerPort
	}
	if h.ip == "" || h.ip == "::" {
		h.ip = anyIP
	}
	if h.protocol == "" {
		h.protocol = v1.ProtocolTCP
	}
	return h
}
