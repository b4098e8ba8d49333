package clusterlab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// EnvKubernetes is the environment variable with the minor release of kube-apiserver, for example "1.34". If it is not
// set, kube-apiserver is of Version. The other programs are always of Version.
const EnvKubernetes = "PODKEEL_KUBERNETES"

// otherServers are the releases that EnvKubernetes can select, beside Version. The key is the minor release.
var otherServers = map[string]string{"1.34": "v1.34.4", "1.35": "v1.35.4", "1.37": "v1.37.2"}

const (
	kubernetesModule = "k8s.io/kubernetes"
	serverPackage    = kubernetesModule + "/cmd/kube-apiserver"
)

// ServerVersion returns the release of kube-apiserver that EnvKubernetes selects. It returns an error if the release is
// unknown.
func ServerVersion() (string, error) {
	minor := os.Getenv(EnvKubernetes)
	if minor == "" || strings.HasPrefix(Version, "v"+minor+".") {
		return Version, nil
	}
	version, ok := otherServers[minor]
	if !ok {
		return "", fmt.Errorf("%s is %q, and no kube-apiserver of that release is known", EnvKubernetes, minor)
	}
	return version, nil
}

// buildOtherServer builds kube-apiserver of another release, and returns a directory with it. The directory has links to
// the other given programs, which are in bin. The caller holds the lock of bin.
func buildOtherServer(ctx context.Context, bin, version string, programs []string) (dir string, err error) {
	flags := []string{"-mod=mod", "-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion=" + version}
	sum := sha256.Sum256(fmt.Append(nil, runtime.Version(), flags))
	// No directory of Version has this prefix.
	dir = filepath.Join(filepath.Dir(bin), fmt.Sprintf("server-%s-%x", version, sum[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, program := range programs {
		if err := os.Symlink(filepath.Join(bin, program), filepath.Join(dir, program)); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	path := filepath.Join(dir, "kube-apiserver")
	if _, err := os.Stat(path); err == nil {
		return dir, nil
	}
	if err := writeServerModule(ctx, dir, version); err != nil {
		return "", err
	}
	if _, err := runGo(ctx, dir, append(append([]string{"build", "-o", path + ".new"}, flags...), serverPackage)...); err != nil {
		return "", err
	}
	return dir, os.Rename(path+".new", path)
}

// writeServerModule writes the go.mod and the go.sum of a module that can build kube-apiserver of a release.
func writeServerModule(ctx context.Context, dir, version string) error {
	out, err := runGo(ctx, dir, "mod", "download", "-json", kubernetesModule+"@"+version)
	if err != nil {
		return err
	}
	var module struct{ GoMod string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	if out, err = runGo(ctx, dir, "mod", "edit", "-json", module.GoMod); err != nil {
		return err
	}
	text, err := serverModule(version, out)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644); err != nil {
		return err
	}
	_, err = runGo(ctx, dir, "get", serverPackage+"@"+version)
	return err
}

// serverModule returns a go.mod that requires Kubernetes. upstream is the go.mod of Kubernetes, as go mod edit -json prints
// it. Upstream replaces the modules of its staging directory by directories, and the result replaces the modules by
// their published versions.
func serverModule(version string, upstream []byte) ([]byte, error) {
	var file struct {
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal(upstream, &file); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "module github.com/podkeel/podkeel/internal/clusterlab/server\n\ngo 1.26.0\n\nrequire %s %s\n\nreplace (\n", kubernetesModule, version)
	for _, r := range file.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			fmt.Fprintf(&b, "\t%[1]s => %[1]s v0.%[2]s\n", r.Old.Path, strings.TrimPrefix(version, "v1."))
		}
	}
	b.WriteString(")\n")
	return b.Bytes(), nil
}

// runGo runs a command of go in a directory, outside any workspace, and returns its output. The error has the end of
// what the command prints.
func runGo(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	var out, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &faults
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, lastBytes(slices.Concat(out.Bytes(), faults.Bytes())))
	}
	return out.Bytes(), nil
}
