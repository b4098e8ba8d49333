package clusterlab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Version is the release of Kubernetes that is built.
const Version = "v1.36.3"

// packages are where the programs are built from.
var packages = map[string]string{
	"etcd":                    "go.etcd.io/etcd/server/v3",
	"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
	"kubectl":                 "k8s.io/kubernetes/cmd/kubectl",
	"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
	"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
	"kube-proxy":              "k8s.io/kubernetes/cmd/kube-proxy",
	"kubemark":                "k8s.io/kubernetes/cmd/kubemark",
	"kubelet":                 "k8s.io/kubernetes/cmd/kubelet",
}

// flags are those of the compiler and the linker. All programs share them, and so their
// packages.
var flags = []string{"-mod=readonly", "-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion=" + Version}

// ErrNotBuilt is that a program could not be built: the network or the disk may lack what it
// takes, and nothing is known of what would run.
var ErrNotBuilt = errors.New("clusterlab: a program cannot be built")

// Build returns the directory that has these programs, and builds those that it has not.
// Two processes may call it at once. An error is ErrNotBuilt.
func Build(ctx context.Context, programs ...string) (dir string, err error) {
	dir, err = cache()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	defer unlock()
	for _, program := range programs {
		if err := build(ctx, dir, program); err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrNotBuilt, program, err)
		}
	}
	return dir, nil
}

// source is the module that the programs are built in.
func source() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "kubernetes")
}

// cache is the directory for what is built of these sources by this compiler.
func cache() (string, error) {
	root := os.Getenv("PODKEEL_CLUSTERLAB")
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		root = filepath.Join(user, "podkeel", "clusterlab")
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), flags)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source(), name))
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(text) // A hash takes everything.
	}
	dir := filepath.Join(root, fmt.Sprintf("%s-%x", Version, sum.Sum(nil)[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, nil
}

// lock waits until it is the only one that holds the file.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func build(ctx context.Context, dir, program string) error {
	path := filepath.Join(dir, program)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	pkg, ok := packages[program]
	if !ok {
		return errors.New("no such program")
	}
	args := append([]string{"build", "-o", path + ".new"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = source()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, tail(out))
	}
	return os.Rename(path+".new", path)
}

// tail is the end of a long text.
func tail(text []byte) []byte { return text[max(0, len(text)-4000):] }
