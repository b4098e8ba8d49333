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

// KubeletConfig configures a kubelet.
type KubeletConfig struct {
	// Node is a node of Config.Nodes.
	Node string
	// Endpoint is the socket of the CRI runtime.
	Endpoint string
	// Dir is an existing directory for the files of the kubelet.
	Dir string
	// CgroupRoot is a cgroup that exists in each hierarchy. The kubelet creates the cgroups of pods in its child
	// kubepods. If it is empty, pods get no cgroups, and the kubelet runs on any machine.
	CgroupRoot string
	// MaxPIDs is the limit of processes of a pod with a CgroupRoot; 0 is no limit.
	MaxPIDs int
}

// cgroupSettings returns the lines of the configuration file for the cgroups of pods.
func (c KubeletConfig) cgroupSettings() string {
	if c.CgroupRoot == "" {
		return "cgroupsPerQOS: false\nenforceNodeAllocatable: []"
	}
	text := fmt.Sprintf("cgroupsPerQOS: true\nenforceNodeAllocatable: [pods]\ncgroupRoot: %s", c.CgroupRoot)
	if c.MaxPIDs > 0 {
		text += fmt.Sprintf("\npodPidsLimit: %d", c.MaxPIDs)
	}
	return text
}

// kubeletConfig keeps the default limits of API calls. It has a DNS server, because the kubelet otherwise writes an
// event at each sync.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
%s
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

// StartKubelet runs a kubelet as a node until Stop. It returns before the node is ready.
func (c *Cluster) StartKubelet(ctx context.Context, settings KubeletConfig) (*Kubelet, error) {
	bin, err := Build(ctx, "kubelet")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.Kubeconfig(settings.Node)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	dir := settings.Dir
	config, root := filepath.Join(dir, "kubelet.yaml"), filepath.Join(dir, "kubelet")
	text := fmt.Sprintf(kubeletConfig, settings.cgroupSettings(), ports[0], settings.Endpoint, filepath.Join(dir, "plugins"), filepath.Join(dir, "pods"))
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
		"--root-dir="+root, "--cert-dir="+filepath.Join(root, "pki"), "--hostname-override="+settings.Node)
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
	k.process.signalGroup(syscall.SIGTERM)
	k.process.killGroup()
	for name, text := range k.tunables {
		_ = os.WriteFile("/proc/sys/"+name, text, 0o644) // On failure the kubelet's value stays.
	}
}
