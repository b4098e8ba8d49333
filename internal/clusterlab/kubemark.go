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

// Kubemark is a kubelet that is running with a runtime in memory.
type Kubemark struct {
	p      *process
	dir    string
	socket string
	conn   *grpc.ClientConn
}

// StartKubemark runs a kubelet as a node of Config.Nodes, until its Stop.
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
	before := sockets()
	k := &Kubemark{}
	if k.dir, err = os.MkdirTemp(c.dir, "kubemark-"); err != nil {
		return nil, err
	}
	k.p, err = start(k.dir, filepath.Join(bin, "kubemark"), "--morph=kubelet", "--name="+node, "--kubeconfig="+kubeconfig,
		fmt.Sprintf("--kubelet-port=%d", ports[0]), fmt.Sprintf("--kubelet-read-only-port=%d", ports[1]),
		"--use-host-image-service=false", "--kube-api-qps=50", "--kube-api-burst=100")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := poll(ctx, func() (bool, error) {
		for _, socket := range sockets() {
			if !slices.Contains(before, socket) {
				k.socket = socket
			}
		}
		return k.socket != "" && k.Manifests() != "", k.p.died()
	}); err != nil {
		k.p.kill()
		return nil, err
	}
	if k.conn, err = grpc.NewClient("unix://"+k.socket, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		k.p.kill()
		return nil, err
	}
	return k, nil
}

// sockets are those of the runtimes of all kubemarks: they have a fixed place.
func sockets() []string {
	all, _ := filepath.Glob("/tmp/kubelet_remote_*.sock") // The pattern is well-formed.
	return all
}

// root is the directory of the kubelet, which is in /tmp; empty if its log does not say it
// yet.
func (k *Kubemark) root() string {
	text, _ := os.ReadFile(k.p.log) // Without it nothing is known yet.
	_, after, _ := strings.Cut(string(text), "Using ")
	root, _, found := strings.Cut(after, " as root dir for hollow-kubelet")
	if !found {
		return ""
	}
	return root
}

// Manifests is the directory of static pods; empty if there is none yet.
func (k *Kubemark) Manifests() string {
	dirs, _ := filepath.Glob(filepath.Join(k.root(), "static-pods*")) // The pattern is well-formed.
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// Exit has the running container of a pod end with code 0, the only one that this runtime
// knows. It says whether there was one.
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

// Stop kills it; its containers end with it.
func (k *Kubemark) Stop() {
	k.p.kill()
	_ = k.conn.Close()      // Nothing is under way.
	_ = os.Remove(k.socket) // Neither is in the directory of the cluster.
	if root := k.root(); root != "" {
		_ = os.RemoveAll(root)
	}
}
