package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pluginDir has the network plugins, and busybox is the machine's static busybox.
const (
	pluginDir = "/usr/lib/cni"
	busybox   = "/bin/busybox"
)

// containerdSocket is the address of the containerd of a run.
const containerdSocket = "/run/containerd/containerd.sock"

// missingPrograms returns what this machine lacks to run containers.
func missingPrograms() (missing []string) {
	if os.Geteuid() != 0 {
		missing = append(missing, "the user is not root")
	}
	for _, name := range []string{busybox, pluginDir + "/bridge", pluginDir + "/host-local", pluginDir + "/portmap", pluginDir + "/loopback"} {
		if _, err := os.Stat(name); err != nil {
			missing = append(missing, name)
		}
	}
	for _, name := range []string{"runc", "ip", "iptables"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if findContainerd() == "" {
		missing = append(missing, "containerd")
	}
	return missing
}

// findContainerd returns the path of $PODKEEL_CONTAINERD_2, or of the containerd in PATH; "" if there is none.
func findContainerd() string {
	if name := os.Getenv("PODKEEL_CONTAINERD_2"); name != "" {
		return name
	}
	name, _ := exec.LookPath("containerd")
	return name
}

// containerdVersion returns the version that a containerd prints; "" if it prints none.
func containerdVersion(program string) string {
	out, _ := exec.Command(program, "--version").Output()
	words := strings.Fields(string(out))
	if len(words) < 3 {
		return ""
	}
	return words[2]
}

// containerd2Config is the configuration file of containerd 2. containerd1Config is the one of containerd 1. Specs about
// runtime classes need the handler test-handler.
const (
	containerd2Config = `version = 3
root = "$DIR/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing"]
[plugins."io.containerd.internal.v1.opt"]
  path = "$DIR/opt"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "$DIR/registries"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "registry.k8s.io/pause:3.10.2"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.test-handler]
    runtime_type = "io.containerd.runc.v2"
`
	containerd1Config = `version = 2
root = "$DIR/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.tracing"]
[plugins."io.containerd.internal.v1.opt"]
  path = "$DIR/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.10.2"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$DIR/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.test-handler]
    runtime_type = "io.containerd.runc.v2"
`
	networkConfig = `{"cniVersion": "0.4.0", "name": "nodesuite", "plugins": [
	{"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipMasq": false,
	 "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + podSubnet + `"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
	{"type": "portmap", "capabilities": {"portMappings": true}}
]}`
	// registryConfig makes containerd pull every image from the registry of the run.
	registryConfig = `[host."http://` + registryAddress + `"]
  capabilities = ["pull", "resolve"]
`
)

// startContainerd starts containerd and waits until it answers.
func (r *isolatedRun) startContainerd() (*process, error) {
	config := containerd2Config
	if strings.HasPrefix(strings.TrimPrefix(containerdVersion(r.Programs.Containerd), "v"), "1.") {
		config = containerd1Config
	}
	file := filepath.Join(r.Dir, "containerd.toml")
	for name, text := range map[string]string{
		file: strings.ReplaceAll(config, "$DIR", r.Dir), "/etc/cni/net.d/10-nodesuite.conflist": networkConfig,
		filepath.Join(r.Dir, "registries", "_default", "hosts.toml"): registryConfig,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	env := "PATH=" + filepath.Dir(r.Programs.Containerd) + ":" + os.Getenv("PATH")
	p, err := startProcess(r.Dir, filepath.Join(r.Dir, "containerd.log"), []string{env}, r.Programs.Containerd, "--config", file)
	if err != nil {
		return nil, err
	}
	for range 300 {
		if _, err := r.runCtr("version"); err == nil {
			return p, nil
		}
		if !p.isRunning() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.signalAndWait(syscall.SIGKILL)
	text, _ := os.ReadFile(filepath.Join(r.Dir, "containerd.log"))
	return nil, fmt.Errorf("containerd does not start: %s", text[max(0, len(text)-2000):])
}

// runCtr runs the client of containerd.
func (r *isolatedRun) runCtr(args ...string) ([]byte, error) {
	name := filepath.Join(filepath.Dir(r.Programs.Containerd), "ctr")
	var out bytes.Buffer
	cmd := exec.Command(name, append([]string{"--namespace", "k8s.io"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, out.Bytes())
	}
	return out.Bytes(), nil
}
