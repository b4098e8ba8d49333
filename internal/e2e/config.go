//go:build linux

package e2e

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// writeConfig creates the configuration directories and writes the configuration of containerd and its CNI
// network. It fails the test if a directory cannot be created.
func (c *Containerd) writeConfig() {
	c.t.Helper()
	for _, dir := range []string{"cni", "opt"} {
		if err := os.MkdirAll(c.filePath(dir), 0o755); err != nil {
			c.t.Fatalf("e2e: %v", err)
		}
	}
	text := strings.NewReplacer(
		"$DIR", c.Dir, "$CNI", c.plugins, "$PAUSE", c.Registry.Pause(), "$SNAPSHOTTER", chooseSnapshotter(c.Dir),
	).Replace(configs[c.Version])
	c.writeFile("config.toml", text)
	c.writeFile("cni/10-pods.conflist", c.networkConfig())
}

func (c *Containerd) writeFile(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(c.filePath(name), []byte(text), 0o600); err != nil {
		c.t.Fatalf("e2e: %v", err)
	}
}

// networkConfig returns a CNI configuration with a bridge, and a subnet that is derived from a hash of the
// containerd's directory, so that two containerds rarely have the same subnet.
func (c *Containerd) networkConfig() string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.Dir))
	n := h.Sum32()
	return fmt.Sprintf(`{"cniVersion": "0.4.0", "name": %q, "plugins": [
	{"type": "bridge", "bridge": %q, "isGateway": true, "hairpinMode": true, "ipMasq": false,
	 "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": "10.%d.%d.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
	{"type": "portmap", "capabilities": {"portMappings": true}}
]}`, c.bridge, c.bridge, c.filePath("leases"), 128+n%100, n/100%256)
}

// chooseSnapshotter returns "overlayfs" if it can mount an overlay in the directory. If it cannot, it returns
// "native".
func chooseSnapshotter(dir string) string {
	at := filepath.Join(dir, "overlay")
	for _, part := range []string{"lower", "upper", "work", "merged"} {
		if err := os.MkdirAll(filepath.Join(at, part), 0o755); err != nil {
			return "native"
		}
	}
	merged := filepath.Join(at, "merged")
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", at)
	if exec.Command("mount", "-t", "overlay", "overlay", "-o", options, merged).Run() != nil {
		return "native"
	}
	_ = exec.Command("umount", merged).Run() // The cleanup unmounts the mounts that remain.
	return "overlayfs"
}

// configs are the configurations by family. Network namespaces lie beneath the
// state directory, so that they can be found; oom scores are restricted for the
// sake of machines on which they cannot be lowered.
var configs = map[Version]string{
	Containerd2: `version = 3
root = "$DIR/root"
state = "$DIR/state"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "$DIR/c.sock"
[ttrpc]
  address = "$DIR/c.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "$DIR/opt"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "$SNAPSHOTTER"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "$PAUSE"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$CNI"]
    conf_dir = "$DIR/cni"
`,
	Containerd17: config1,
	Containerd16: config1,
}

// config1 is the configuration of the families 1.6 and 1.7.
const config1 = `version = 2
root = "$DIR/root"
state = "$DIR/state"
disabled_plugins = ["io.containerd.internal.v1.tracing"]
[grpc]
  address = "$DIR/c.sock"
[ttrpc]
  address = "$DIR/c.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "$DIR/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "$SNAPSHOTTER"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$CNI"
    conf_dir = "$DIR/cni"
`
