package clusterlab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Kubemark is a running kubelet with an in-memory runtime.
type Kubemark struct {
	process *process
	dir     string
	socket  string
	conn    *grpc.ClientConn
}

// StartKubemark runs a kubelet as a node of Config.Nodes until Stop.
func (c *Cluster) StartKubemark(ctx context.Context, node string) (*Kubemark, error) {
	bin, err := Build(ctx, "kubemark")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.Kubeconfig(node)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	before := kubemarkSockets()
	k := &Kubemark{}
	if k.dir, err = os.MkdirTemp(c.dir, "kubemark-"); err != nil {
		return nil, err
	}
	k.process, err = startProcess(k.dir, filepath.Join(bin, "kubemark"), "--morph=kubelet", "--name="+node, "--kubeconfig="+kubeconfig,
		fmt.Sprintf("--kubelet-port=%d", ports[0]), fmt.Sprintf("--kubelet-read-only-port=%d", ports[1]),
		"--use-host-image-service=false", "--kube-api-qps=50", "--kube-api-burst=100")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := pollUntil(ctx, func() (bool, error) {
		for _, socket := range kubemarkSockets() {
			if !slices.Contains(before, socket) {
				k.socket = socket
			}
		}
		return k.socket != "" && k.Manifests() != "", k.process.exitError()
	}); err != nil {
		k.process.killGroup()
		return nil, err
	}
	if k.conn, err = grpc.NewClient("unix://"+k.socket, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		k.process.killGroup()
		return nil, err
	}
	return k, nil
}

// kubemarkSockets returns the paths of the runtime sockets of all kubemarks on the machine, which have a fixed
// directory.
func kubemarkSockets() []string {
	all, _ := filepath.Glob("/tmp/kubelet_remote_*.sock") // The pattern is well-formed.
	return all
}

// rootDir returns the root directory of the kubelet in /tmp, which it reads from the log. It returns "" if the
// log does not name it yet.
func (k *Kubemark) rootDir() string {
	text, _ := os.ReadFile(k.process.log) // A missing log is an empty log.
	_, after, _ := strings.Cut(string(text), "Using ")
	root, _, found := strings.Cut(after, " as root dir for hollow-kubelet")
	if !found {
		return ""
	}
	return root
}

// Manifests returns the directory of static pods, or an empty string if it does not exist yet.
func (k *Kubemark) Manifests() string {
	dirs, _ := filepath.Glob(filepath.Join(k.rootDir(), "static-pods*")) // The pattern is well-formed.
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// Exit makes a running container of a pod exit with code 0, the only code that this runtime supports. It returns false
// if no such container runs.
func (k *Kubemark) Exit(ctx context.Context, pod, container string) (bool, error) {
	runtime := cri.NewRuntimeServiceClient(k.conn)
	list, err := runtime.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return false, err
	}
	for _, c := range list.Containers {
		if c.Labels["io.kubernetes.pod.name"] == pod && c.Metadata.Name == container && c.State == cri.ContainerState_CONTAINER_RUNNING {
			_, err := runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: c.Id})
			return err == nil, err
		}
	}
	return false, nil
}

// Stop kills the kubelet. Its containers stop too.
func (k *Kubemark) Stop() {
	k.process.killGroup()
	_ = k.conn.Close()      // No request is running.
	_ = os.Remove(k.socket) // The socket and the root are outside the cluster's directory.
	if root := k.rootDir(); root != "" {
		_ = os.RemoveAll(root)
	}
}
