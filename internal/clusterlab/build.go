package clusterlab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// Version is the Kubernetes release that is built.
const Version = "v1.36.3"

// programPackages are the main packages of the programs.
var programPackages = map[string]string{
	"etcd":                    "go.etcd.io/etcd/server/v3",
	"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
	"kubectl":                 "k8s.io/kubernetes/cmd/kubectl",
	"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
	"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
	"kube-proxy":              "k8s.io/kubernetes/cmd/kube-proxy",
	"kubemark":                "k8s.io/kubernetes/cmd/kubemark",
	"kubelet":                 "k8s.io/kubernetes/cmd/kubelet",
}

// buildFlags are the flags of go build. All programs use the same flags, so that they share compiled packages.
var buildFlags = []string{"-mod=readonly", "-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion=" + Version}

// ErrNotBuilt means that a program could not be built, for example because the network or the disk failed. Nothing was
// tested then.
var ErrNotBuilt = errors.New("clusterlab: a program cannot be built")

// Build returns a directory with the given programs, and builds missing ones. EnvKubernetes selects another release of
// kube-apiserver. Two processes may call it concurrently. The error is ErrNotBuilt.
func Build(ctx context.Context, programs ...string) (dir string, err error) {
	dir, err = cacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	unlock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	defer unlock()
	server, err := ServerVersion()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	isOther := server != Version && slices.Contains(programs, "kube-apiserver")
	if isOther {
		programs = slices.DeleteFunc(slices.Clone(programs), func(program string) bool { return program == "kube-apiserver" })
	}
	for _, program := range programs {
		if err := buildProgram(ctx, dir, program); err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrNotBuilt, program, err)
		}
	}
	if !isOther {
		return dir, nil
	}
	if dir, err = buildOtherServer(ctx, dir, server, programs); err != nil {
		return "", fmt.Errorf("%w: kube-apiserver %s: %w", ErrNotBuilt, server, err)
	}
	return dir, nil
}

// kubernetesModuleDir returns the directory of the module in which the programs are built.
func kubernetesModuleDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "kubernetes")
}

// cacheDir creates and returns the cache directory for the Kubernetes binaries of this build. The name of the
// directory has the version of Kubernetes and a hash of its go.mod and go.sum, the build flags and the version of
// Go. The parent directory is $PODKEEL_CLUSTERLAB or, if that is not set, a directory in the user's cache
// directory.
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
	fmt.Fprintln(sum, runtime.Version(), buildFlags)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(kubernetesModuleDir(), name))
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(text) // A hash never fails.
	}
	dir := filepath.Join(root, fmt.Sprintf("%s-%x", Version, sum.Sum(nil)[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, nil
}

// lockFile creates a file if needed, and waits until it holds an exclusive lock on the file.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// buildProgram builds a program into dir, unless dir has the program already.
func buildProgram(ctx context.Context, dir, program string) error {
	path := filepath.Join(dir, program)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	pkg, ok := programPackages[program]
	if !ok {
		return errors.New("no such program")
	}
	args := append([]string{"build", "-o", path + ".new"}, buildFlags...)
	if _, err := runGo(ctx, kubernetesModuleDir(), append(args, pkg)...); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// lastBytes returns at most the last 4000 bytes of a text.
func lastBytes(text []byte) []byte { return text[max(0, len(text)-4000):] }
