package clusterlab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Kubelet is a kubelet that is running on a containerd.
type Kubelet struct {
	p        *process
	tunables map[string][]byte
}

// kubeletConfig has no cgroups of its own, so that it runs on any machine, and the default
// bounds on its calls. Without a DNS server it would write an event about that at each sync.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
evictionHard: {imagefs.available: 0%%, memory.available: 0%%, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.inodesFree: 0%%}
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
address: 127.0.0.1
port: %d
healthzPort: 0
containerRuntimeEndpoint: %s
volumePluginDir: %s
podLogsDir: %s
localStorageCapacityIsolation: false
resolvConf: ""
clusterDNS: [10.0.0.10]
clusterDomain: cluster.local
`

// tunables are what a kubelet sets on the machine.
var tunables = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

// StartKubelet runs a kubelet as a node of Config.Nodes until its Stop, with its files in a
// directory that is there. It returns before the node is ready.
func (c *Cluster) StartKubelet(ctx context.Context, node, endpoint, dir string) (*Kubelet, error) {
	bin, err := Build(ctx, "kubelet")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.Kubeconfig(node)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	config, root := filepath.Join(dir, "kubelet.yaml"), filepath.Join(dir, "kubelet")
	text := fmt.Sprintf(kubeletConfig, ports[0], endpoint, filepath.Join(dir, "plugins"), filepath.Join(dir, "pods"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	k := &Kubelet{tunables: map[string][]byte{}}
	for _, name := range tunables {
		if text, err := os.ReadFile("/proc/sys/" + name); err == nil {
			k.tunables[name] = text
		}
	}
	k.p, err = start(dir, filepath.Join(bin, "kubelet"), "--kubeconfig="+kubeconfig, "--config="+config,
		"--root-dir="+root, "--cert-dir="+filepath.Join(root, "pki"), "--hostname-override="+node)
	return k, err
}

// PID is that of the process.
func (k *Kubelet) PID() int { return k.p.cmd.Process.Pid }

// Died is why it has ended; nil if it runs.
func (k *Kubelet) Died() error { return k.p.died() }

// Log is the file with its log.
func (k *Kubelet) Log() string { return k.p.log }

// Stop ends it, and sets on the machine what was set before. Its containers go on.
func (k *Kubelet) Stop() {
	k.p.signal(syscall.SIGTERM)
	k.p.kill()
	for name, text := range k.tunables {
		_ = os.WriteFile("/proc/sys/"+name, text, 0o644) // It is as the kubelet has left it.
	}
}
