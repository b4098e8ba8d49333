package request

import (
	"cmp"
	"fmt"
	"path"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/runtime"
)

// Image is the runtime's description of the image of a container.
type Image struct {
	Ref  string // the reference for the creation of containers
	User string // the user of the image; empty is root
}

// Container is the input of Node.ContainerRequest.
type Container struct {
	Pod         *v1.Pod
	Ref         runtime.PodRef
	Container   *v1.Container
	Attempt     uint32
	SandboxID   string
	Image       Image
	Environment *environ.Environment
	Mounts      []runtime.Mount
	Security    runtime.Security // see Node.ContainerSecurity
	PIDTarget   string           // the ID of the container whose name PIDTargetContainer returns
}

// ContainerRequest returns the request that creates a container.
func (n *Node) ContainerRequest(in Container) runtime.CreateContainerRequest {
	c := in.Container
	req := runtime.CreateContainerRequest{
		Pod:         in.Ref,
		SandboxID:   in.SandboxID,
		Name:        c.Name,
		Attempt:     in.Attempt,
		Image:       c.Image,
		ImageRef:    in.Image.Ref,
		Command:     in.Environment.Command(),
		Args:        in.Environment.Args(),
		WorkingDir:  c.WorkingDir,
		Env:         in.Environment.Vars(),
		Mounts:      in.Mounts,
		Resources:   containerResources(in.Pod, c, n.MemoryBytes),
		Security:    in.Security,
		Labels:      withPodLabels(in.Pod, nil),
		Annotations: make(map[string]string),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		TTY:         c.TTY,
		PIDTarget:   in.PIDTarget,
	}
	req.Labels[LabelContainerName] = c.Name
	setStopAnnotations(req.Annotations, in.Pod, c)
	req.Annotations[AnnotationSpecHash] = podspec.ContainerHash(c)
	req.Annotations[AnnotationRestartCount] = strconv.FormatUint(uint64(in.Attempt), 10)
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		req.StopSignal = string(*c.Lifecycle.StopSignal)
	}
	if n.LogRoot != "" {
		req.LogPath = fmt.Sprintf("%s/%d.log", c.Name, in.Attempt)
	}
	return req
}

// PIDTargetContainer returns the name of the container whose process namespace an ephemeral container
// joins. It returns an empty string for other containers, and for pods whose containers share one
// process namespace or use the host's.
func PIDTargetContainer(pod *v1.Pod, container string) string {
	share := pod.Spec.ShareProcessNamespace
	if pod.Spec.HostPID || share != nil && *share {
		return ""
	}
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; c.Name == container {
			return c.TargetContainerName
		}
	}
	return ""
}

// Node has the settings of a node that are part of the requests for its pods.
type Node struct {
	ClusterDNS    []string // addresses of the cluster's name servers
	ClusterDomain string   // the suffix of the cluster's names
	SeccompRoot   string   // the directory of seccomp profiles, an absolute path
	LogRoot       string   // the directory of the pods' log directories; empty: requests have no log paths
	MemoryBytes   uint64   // the memory of the node; zero: unknown
	// Handlers are the runtime handlers by the name of their RuntimeClass.
	Handlers map[string]string
}

// HasMountAt reports whether a container has a volumeMount at a path.
func HasMountAt(c *v1.Container, at string) bool {
	for i := range c.VolumeMounts {
		if path.Join("/", c.VolumeMounts[i].MountPath) == at {
			return true
		}
	}
	return false
}

// TerminationMessagePath returns the path of the termination message file in the container.
func TerminationMessagePath(c *v1.Container) string {
	return path.Join("/", cmp.Or(c.TerminationMessagePath, v1.TerminationMessagePathDefault))
}
