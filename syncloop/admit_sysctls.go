package syncloop

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// reasonSysctl is the kubelet's reason for a sysctl that is not allowed.
const reasonSysctl = "SysctlForbidden"

// safeSysctls are the sysctls that every pod may set: each belongs to a namespace of the pod, and does not affect other
// pods.
var safeSysctls = [...]string{
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ping_group_range",
	"net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_rmem", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
}

// AdmitSysctls returns a handler that refuses a pod with a sysctl that is neither safe nor in unsafe. The safe sysctls are
// the kubelet's for Linux 4.15 and newer. An entry of unsafe is a name, or a prefix that ends in "*". The handler also
// refuses a sysctl of a network, IPC or user namespace that the pod shares with the host. AdmitSysctls returns an error
// if an entry belongs to no known namespace of a pod.
func AdmitSysctls(unsafe []string) (PodAdmitHandler, error) {
	names, prefixes := map[string]bool{}, []string(nil)
	for _, name := range safeSysctls {
		names[name] = true
	}
	for _, entry := range unsafe {
		name := podspec.NormalizeSysctl(entry)
		prefix, isPrefix := strings.CutSuffix(name, "*")
		switch {
		case podspec.SysctlNamespace(prefix) == "" || strings.Contains(prefix, "*"):
			return nil, fmt.Errorf("syncloop: the unsafe sysctl %q belongs to no known namespace of a pod: expected a name such as net.core.somaxconn, or a prefix such as net.*", entry)
		case isPrefix:
			prefixes = append(prefixes, prefix)
		default:
			names[name] = true
		}
	}
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		return Refused(forbiddenSysctls(&attrs.Pod.Spec, func(name string) bool {
			return names[name] || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		})...)
	}), nil
}

// forbiddenSysctls returns a reason for each sysctl of a pod that is not allowed, or that belongs to a namespace of the
// host.
func forbiddenSysctls(spec *v1.PodSpec, isAllowed func(name string) bool) (reasons []allocation.Reason) {
	if spec.SecurityContext == nil {
		return nil
	}
	shared := map[string]bool{
		podspec.SysctlNet: spec.HostNetwork, podspec.SysctlIPC: spec.HostIPC, podspec.SysctlUser: spec.HostUsers == nil || *spec.HostUsers,
	}
	for i, sysctl := range spec.SecurityContext.Sysctls {
		name := podspec.NormalizeSysctl(sysctl.Name)
		namespace := podspec.SysctlNamespace(name)
		var why string
		switch {
		case !isAllowed(name):
			why = "not allowlisted"
		case shared[namespace]:
			why = "not allowed with host " + namespace + " enabled"
		default:
			continue
		}
		reasons = append(reasons, allocation.Reason{
			Kind: allocation.KindUnsupportedField, Reason: reasonSysctl, Field: fmt.Sprintf("spec.securityContext.sysctls[%d].name", i),
			Message: fmt.Sprintf("forbidden sysctl: %q %s", name, why),
		})
	}
	return reasons
}
