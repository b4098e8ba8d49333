package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// version is the Kubernetes release of the suite and of the kubelet.
const version = "v1.37.2"

// programs are the paths of the programs that a run needs.
type programs struct {
	// Suite is the directory of the programs of Kubernetes.
	Suite string
	// Agent is examples/cluster.
	Agent string
	// Self is this program.
	Self string
	// Containerd is the containerd that runs the containers. Its shim is in the same directory.
	Containerd string
}

// suitePackages are the packages of the programs of Kubernetes.
var suitePackages = map[string]string{
	"e2e_node.test": "k8s.io/kubernetes/test/e2e_node", "ginkgo": "github.com/onsi/ginkgo/v2/ginkgo", "kubelet": "k8s.io/kubernetes/cmd/kubelet",
	"agnhost": "k8s.io/kubernetes/test/images/agnhost", "nonewprivs": "k8s.io/kubernetes/test/images/nonewprivs",
	"sample-device-plugin": "k8s.io/kubernetes/test/images/sample-device-plugin",
}

// linkerFlags are the flags of the linker for all programs of Kubernetes.
const linkerFlags = "-s -w -X k8s.io/component-base/version.gitVersion=" + version

// moduleDir returns the directory of this module.
func moduleDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// buildPrograms builds the missing programs and returns their paths. Two processes may call it concurrently.
func buildPrograms(nodes []string) (p programs, err error) {
	if p.Suite, err = cacheDir(); err != nil {
		return p, err
	}
	lock, err := os.OpenFile(filepath.Join(p.Suite, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return p, err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return p, err
	}
	for _, name := range []string{"ginkgo", "agnhost", "nonewprivs", "sample-device-plugin", "e2e_node.test", "kubelet"} {
		if name == "kubelet" && !slices.Contains(nodes, nodeKubelet) {
			continue
		}
		if err := buildSuiteProgram(p.Suite, name); err != nil {
			return p, err
		}
	}
	if err := goBuild(moduleDir(), "build", "-ldflags", "-s -w", "-o", filepath.Join(p.Suite, "tools"), "./tools"); err != nil {
		return p, err
	}
	if err := copyCertificate(p.Suite); err != nil {
		return p, err
	}
	p.Agent = filepath.Join(p.Suite, "podkeel")
	root := filepath.Join(moduleDir(), "..", "..", "..")
	if err := goBuild(root, "build", "-tags", "grpcnotrace", "-o", p.Agent, "./examples/cluster"); err != nil {
		return p, err
	}
	if p.Self, err = os.Executable(); err != nil {
		return p, err
	}
	p.Containerd = findContainerd()
	return p, nil
}

// cacheDir creates and returns the directory of the programs for this release, its modules and compiler. Its parent is
// $PODKEEL_CLUSTERLAB or the user's cache directory.
func cacheDir() (string, error) {
	root := os.Getenv("PODKEEL_CLUSTERLAB")
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		root = filepath.Join(user, "podkeel", "clusterlab")
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), linkerFlags)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(moduleDir(), "kubernetes", name))
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(text) // A hash never fails.
	}
	dir := filepath.Join(root, fmt.Sprintf("nodesuite-%s-%x", version, sum.Sum(nil)[:6]))
	return dir, os.MkdirAll(dir, 0o755)
}

// buildSuiteProgram builds a program of Kubernetes into dir, unless dir has the program already.
func buildSuiteProgram(dir, name string) error {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	fmt.Printf("building %s %s\n", name, version)
	args := []string{"build"}
	if filepath.Ext(name) == ".test" {
		args = []string{"test", "-c"}
	}
	args = append(args, "-mod=readonly", "-ldflags", linkerFlags, "-o", path+".new", suitePackages[name])
	if err := goBuild(filepath.Join(moduleDir(), "kubernetes"), args...); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// certificateFiles are the files of the certificate in the image agnhost.
var certificateFiles = []string{"localhost.crt", "localhost.key"}

// copyCertificate copies the certificate of the image agnhost from the module of Kubernetes to dir.
func copyCertificate(dir string) error {
	cmd := exec.Command("go", "list", "-mod=readonly", "-f", "{{.Dir}}", "k8s.io/kubernetes/test/images/agnhost/porter")
	cmd.Dir = filepath.Join(moduleDir(), "kubernetes")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("the module of Kubernetes: %w", err)
	}
	for _, name := range certificateFiles {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// goBuild runs the go command in a directory. The programs are static, because they also run in images.
func goBuild(dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot be built: %w: %s", args[len(args)-1], err, out[max(0, len(out)-4000):])
	}
	return nil
}
