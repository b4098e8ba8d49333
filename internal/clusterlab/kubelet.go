package clusterlab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Kubelet is a running kubelet on a containerd.
type Kubelet struct {
	process  *process
	tunables map[string][]byte
}

// kubeletConfig disables the kubelet's own cgroups, so that it runs on any machine. It keeps the default limits of API
// calls. It has a DNS server, because the kubelet otherwise writes an event at each sync.
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

// tunables are the kernel parameters that a kubelet changes.
var tunables = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

// StartKubelet runs a kubelet as a node of Config.Nodes until Stop, with its files in an existing directory. It returns
// before the node is ready.
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
	k.process, err = startProcess(dir, filepath.Join(bin, "kubelet"), "--kubeconfig="+kubeconfig, "--config="+config,
		"--root-dir="+root, "--cert-dir="+filepath.Join(root, "pki"), "--hostname-override="+node)
	return k, err
}

// PID returns the ID of the process.
func (k *Kubelet) PID() int { return k.process.cmd.Process.Pid }

// Died returns an error if the kubelet has exited; nil if it runs.
func (k *Kubelet) Died() error { return k.process.exitError() }

// Log returns the path of the kubelet's log.
func (k *Kubelet) Log() string { return k.process.log }

// Stop stops the kubelet and restores the kernel parameters. Its containers keep running.
func (k *Kubelet) Stop() {
	k.process.signal(syscall.SIGTERM)
	k.process.kill()
	for name, text := range k.tunables {
		_ = os.WriteFile("/proc/sys/"+name, text, 0o644) // On failure the kubelet's value stays.
	}
}
