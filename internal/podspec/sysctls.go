package podspec

import "strings"

// The namespaces of sysctls, as the kubelet spells them in messages.
const (
	// SysctlIPC is the namespace of shared memory, semaphores and message queues.
	SysctlIPC = "IPC"
	// SysctlNet is the network namespace.
	SysctlNet = "Net"
	// SysctlUTS is the namespace of host and domain names.
	SysctlUTS = "UTS"
	// SysctlUser is the namespace of users and groups.
	SysctlUser = "User"
)

// NormalizeSysctl returns the name of a sysctl with '.' as separator. The first '.' or '/' in the name is its separator.
// The other character is then part of a name, as in net/ipv4/conf/eth0.1, and is replaced in the same way.
func NormalizeSysctl(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		return strings.NewReplacer("/", ".", ".", "/").Replace(name)
	}
	return name
}

// SysctlNamespace returns the kernel namespace of a normalized name of a sysctl, or of a prefix of names, such as
// "net.". It returns "" if the sysctl belongs to no known namespace.
func SysctlNamespace(name string) string {
	switch name {
	case "kernel.domainname":
		return SysctlUTS
	case "kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
		"kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni":
		return SysctlIPC
	}
	for prefix, namespace := range map[string]string{"net.": SysctlNet, "fs.mqueue.": SysctlIPC, "user.": SysctlUser} {
		if strings.HasPrefix(name, prefix) {
			return namespace
		}
	}
	return ""
}
