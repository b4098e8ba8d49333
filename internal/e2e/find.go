//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Version is a family of containerds.
type Version string

// The families that can be tested.
const (
	// Containerd2 has a stream of events.
	Containerd2 Version = "2"
	// Containerd17 is tested only if EnvFamilies names it.
	Containerd17 Version = "1.7"
	// Containerd16 has no stream of events.
	Containerd16 Version = "1.6"
)

// Versions returns the families that EnvFamilies names. If it is not set, they are 2 and 1.6.
func Versions() []Version {
	names := os.Getenv(EnvFamilies)
	if names == "" {
		return []Version{Containerd2, Containerd16}
	}
	var versions []Version
	for name := range strings.SplitSeq(names, ",") {
		versions = append(versions, Version(name))
	}
	return versions
}

const (
	// EnvFamilies is the environment variable with the families that are tested, separated by commas.
	EnvFamilies = "PODKEEL_CONTAINERD_FAMILIES"
	// EnvContainerd2 names a containerd of the 2 family, if that in PATH is none.
	// Its shim lies beside it.
	EnvContainerd2 = "PODKEEL_CONTAINERD_2"
	// EnvContainerd17 names a containerd of the 1.7 family. Its shim is in the same directory.
	EnvContainerd17 = "PODKEEL_CONTAINERD_1_7"
)

const (
	pluginDir = "/usr/lib/cni"
	busybox   = "/bin/busybox"
)

// program is a containerd that has been found.
type program struct {
	containerd string
	path       string // in which it finds its shim and runc
}

// findPrograms checks that the machine has everything that a containerd needs, and returns the path of the
// containerd program and its PATH. missing names the first thing that the machine lacks. It is empty if the
// machine lacks nothing.
func findPrograms(version Version) (p program, missing string) {
	if os.Geteuid() != 0 {
		return p, "only root can"
	}
	for _, file := range []string{busybox, pluginDir + "/bridge", pluginDir + "/host-local", pluginDir + "/loopback", pluginDir + "/portmap"} {
		if _, err := os.Stat(file); err != nil {
			return p, fmt.Sprintf("%v (Debian: busybox-static, containernetworking-plugins)", err)
		}
	}
	for _, command := range []string{"runc", "ip", "iptables", "mount", "umount"} {
		if _, err := exec.LookPath(command); err != nil {
			return p, err.Error()
		}
	}
	if _, err := os.Stat("/sys/fs/cgroup"); err != nil {
		return p, err.Error()
	}
	if p.containerd = containerdProgram(version); p.containerd == "" {
		return p, fmt.Sprintf("no containerd %s: neither /usr/bin/containerd nor that in PATH nor $%s nor $%s is one", version, EnvContainerd2, EnvContainerd17)
	}
	p.path = filepath.Dir(p.containerd) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	return p, ""
}

// containerdProgram returns the path of the first containerd program of a version family, or "" if none is
// found. It searches $PODKEEL_CONTAINERD_2, $PODKEEL_CONTAINERD_1_7, /usr/bin, PATH and $HOME/go/bin.
func containerdProgram(version Version) string {
	candidates := []string{os.Getenv(EnvContainerd2), os.Getenv(EnvContainerd17), "/usr/bin/containerd"}
	if found, err := exec.LookPath("containerd"); err == nil {
		candidates = append(candidates, found)
	}
	if home, err := os.UserHomeDir(); err == nil {
		candidates = append(candidates, filepath.Join(home, "go/bin/containerd")) // where go install puts it
	}
	for _, candidate := range candidates {
		if candidate != "" && hasVersion(candidate, version) {
			return candidate
		}
	}
	return ""
}

// hasVersion reports whether a containerd program belongs to a version family. It runs the program, which
// prints "containerd <module> <version> <commit>". It returns false if the program fails.
func hasVersion(file string, version Version) bool {
	out, err := exec.Command(file, "--version").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) < 3 {
		return false
	}
	// A build by go install knows no version, only its module's path.
	if strings.HasSuffix(words[1], "/v2") {
		return version == Containerd2
	}
	return strings.HasPrefix(strings.TrimPrefix(words[2], "v"), string(version)+".")
}
