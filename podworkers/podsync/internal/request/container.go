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

// Image is the image of a container, as the runtime describes it.
type Image struct {
	Ref  string // to create containers with
	User string // as whom it wants to run; empty is root
}

// Container is what a request for one container is made of.
type Container struct {
	Pod         *v1.Pod
	Ref         runtime.PodRef
	Container   *v1.Container
	Attempt     uint32
	SandboxID   string
	Image       Image
	Environment *environ.Environment
	Mounts      []runtime.Mount
	Security    runtime.Security // see Node.Security
	PIDTarget   string           // the ID of the container that the function of that name has named
}

// Container is what the runtime is asked for.
func (n *Node) Container(in Container) runtime.CreateContainerRequest {
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
		Resources:   resources(in.Pod, c, n.MemoryBytes),
		Security:    in.Security,
		Labels:      labels(in.Pod, nil),
		Annotations: make(map[string]string),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		TTY:         c.TTY,
		PIDTarget:   in.PIDTarget,
	}
	req.Labels[LabelContainerName] = c.Name
	setStopInfo(req.Annotations, in.Pod, c)
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

// PIDTarget is the name of the container whose processes an ephemeral container sees beside its own.
// It is empty for other containers, and where the pod's containers or the host share them anyway.
func PIDTarget(pod *v1.Pod, container string) string {
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

// Node is what a node contributes to the requests for its pods.
type Node struct {
	ClusterDNS    []string // addresses of the cluster's name servers
	ClusterDomain string   // what the names of the cluster end in
	SeccompRoot   string   // the directory of seccomp profiles, an absolute path
	LogRoot       string   // the directory below which pods have their logs; empty: no paths
	MemoryBytes   uint64   // of the node; zero: not known
	// Handlers are the runtime handlers by the name of their RuntimeClass.
	Handlers map[string]string
}

// IsMounted reports whether a container mounts something of its own at a path.
func IsMounted(c *v1.Container, at string) bool {
	for i := range c.VolumeMounts {
		if path.Join("/", c.VolumeMounts[i].MountPath) == at {
			return true
		}
	}
	return false
}

// MessagePath is where a container finds the file for its termination message.
func MessagePath(c *v1.Container) string {
	return path.Join("/", cmp.Or(c.TerminationMessagePath, v1.TerminationMessagePathDefault))
}
