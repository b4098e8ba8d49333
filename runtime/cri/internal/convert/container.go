package convert

import (
	"cmp"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// CreateContainer is the request for a container in a sandbox of which place
// and attempt are known.
func CreateContainer(req runtime.CreateContainerRequest, place Place, sandboxAttempt uint32, owner string) *cri.CreateContainerRequest {
	config := &cri.ContainerConfig{
		Metadata:    &cri.ContainerMetadata{Name: req.Name, Attempt: req.Attempt},
		Image:       &cri.ImageSpec{Image: cmp.Or(req.ImageRef, req.Image), UserSpecifiedImage: req.Image},
		Command:     req.Command,
		Args:        req.Args,
		WorkingDir:  req.WorkingDir,
		Envs:        environment(req.Env),
		Mounts:      mounts(req.Mounts, place.Namespaces.Users),
		Devices:     devices(req.Devices),
		Labels:      labels(req.Labels, req.Pod, owner),
		Annotations: annotations(req.Annotations, req.Pod),
		LogPath:     req.LogPath,
		Stdin:       req.Stdin,
		StdinOnce:   req.StdinOnce,
		Tty:         req.TTY,
		Linux: &cri.LinuxContainerConfig{
			Resources:       Resources(req.Resources),
			SecurityContext: containerSecurity(&req.Security, place.Namespaces),
		},
	}
	config.StopSignal, _ = StopSignal(req.StopSignal) // The shell has asked before.
	config.Labels[LabelContainerName] = req.Name
	config.Annotations[AnnotationImage] = req.Image
	return &cri.CreateContainerRequest{
		PodSandboxId: req.SandboxID, Config: config, SandboxConfig: sandboxAgain(&req, place, sandboxAttempt),
	}
}

func environment(vars []runtime.EnvVar) []*cri.KeyValue {
	var out []*cri.KeyValue
	for _, v := range vars {
		out = append(out, &cri.KeyValue{Key: v.Name, Value: v.Value})
	}
	return out
}

// mounts are seen by the users of the container as by those of the host.
func mounts(all []runtime.Mount, users *runtime.UserNamespace) []*cri.Mount {
	var out []*cri.Mount
	for _, m := range all {
		c := &cri.Mount{
			ContainerPath: m.ContainerPath, HostPath: m.HostPath, Readonly: m.ReadOnly,
			Propagation: propagation(m.Propagation),
			// Whether it is possible the shell has found out before.
			RecursiveReadOnly: m.RecursiveReadOnly != runtime.RecursiveReadOnlyDisabled,
		}
		if users != nil {
			c.UidMappings, c.GidMappings = idMappings(users.UIDs), idMappings(users.GIDs)
		}
		out = append(out, c)
	}
	return out
}

func propagation(p runtime.Propagation) cri.MountPropagation {
	switch p {
	case runtime.PropagationHostToContainer:
		return cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER
	case runtime.PropagationBidirectional:
		return cri.MountPropagation_PROPAGATION_BIDIRECTIONAL
	}
	return cri.MountPropagation_PROPAGATION_PRIVATE
}

func devices(all []runtime.Device) []*cri.Device {
	var out []*cri.Device
	for _, d := range all {
		out = append(out, &cri.Device{ContainerPath: d.ContainerPath, HostPath: d.HostPath, Permissions: d.Permissions})
	}
	return out
}

// StopSignal finds a signal by its name, with or without SIG; RTMIN+1 too. Empty
// is the runtime's choice.
func StopSignal(name string) (signal cri.Signal, ok bool) {
	if name == "" {
		return cri.Signal_RUNTIME_DEFAULT, true
	}
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	name = strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(name)
	n, ok := cri.Signal_value["SIG"+name]
	return cri.Signal(n), ok
}

// ContainerStatus is the full record of a container: what the list has said of it, and
// what its status adds.
func ContainerStatus(listed runtime.Container, s *cri.ContainerStatus) runtime.ContainerStatus {
	out := runtime.ContainerStatus{
		Container:   listed,
		Image:       cmp.Or(s.GetAnnotations()[AnnotationImage], s.GetImage().GetUserSpecifiedImage(), s.GetImage().GetImage()),
		ImageRef:    cmp.Or(s.GetImageRef(), s.GetImageId()),
		CreatedAt:   when(s.GetCreatedAt()),
		StartedAt:   when(s.GetStartedAt()),
		FinishedAt:  when(s.GetFinishedAt()),
		ExitCode:    s.GetExitCode(),
		Reason:      s.GetReason(),
		Message:     s.GetMessage(),
		Annotations: s.GetAnnotations(),
	}
	out.State = State(s.GetState())
	return out
}

// State is the state of a container; one that is not known here is unknown.
func State(s cri.ContainerState) runtime.State {
	switch s {
	case cri.ContainerState_CONTAINER_CREATED:
		return runtime.StateCreated
	case cri.ContainerState_CONTAINER_RUNNING:
		return runtime.StateRunning
	case cri.ContainerState_CONTAINER_EXITED:
		return runtime.StateExited
	}
	return runtime.StateUnknown
}
