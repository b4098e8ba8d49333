package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/podspec"
)

func TestSysctlNamespace(t *testing.T) {
	for name, want := range map[string][2]string{
		"net.core.somaxconn":       {"net.core.somaxconn", "Net"},
		"net/ipv4/conf/eth0.1/mtu": {"net.ipv4.conf.eth0/1.mtu", "Net"},
		"net.ipv4.conf.eth0/1.mtu": {"net.ipv4.conf.eth0/1.mtu", "Net"},
		"fs/mqueue/msg_max":        {"fs.mqueue.msg_max", "IPC"},
		"kernel.shm_rmid_forced":   {"kernel.shm_rmid_forced", "IPC"},
		"kernel.sem":               {"kernel.sem", "IPC"},
		"kernel.domainname":        {"kernel.domainname", "UTS"},
		"user.max_user_namespaces": {"user.max_user_namespaces", "User"},
		"kernel.pid_max":           {"kernel.pid_max", ""},
		"network.a":                {"network.a", ""},
		"":                         {"", ""},
	} {
		normalized := podspec.NormalizeSysctl(name)
		assert.Equal(t, want, [2]string{normalized, podspec.SysctlNamespace(normalized)}, name)
	}
}
