package convert

import (
	"cmp"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/podspec"
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
	if pid := config.Linux.SecurityContext.NamespaceOptions; req.PIDTarget != "" && pid.Pid == cri.NamespaceMode_CONTAINER {
		pid.Pid, pid.TargetId = cri.NamespaceMode_TARGET, req.PIDTarget
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
		out = append(out, &cri.KeyValue{Key: v.Name, Value: []byte(v.Value)})
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
		if m.Image != "" {
			c.Image, c.ImageSubPath = &cri.ImageSpec{Image: m.Image}, m.ImageSubPath
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
		return 0, true
	}
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	name = strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(name)
	n, ok := cri.Signal_value["SIG"+name]
	if !ok {
		n, ok = cri.Signal_value["SIGNAL_SIG"+name] // Its name since k8s.io/cri-api 0.37.
	}
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
	out.StartCancelled = isStartCancelled(s)
	for _, m := range s.GetMounts() {
		if image := m.GetImage().GetImage(); image != "" {
			out.MountedImages = append(out.MountedImages, image)
		}
	}
	out.State = State(s.GetState())
	return out
}

// isStartCancelled reports whether containerd has given up a start because its caller had gone:
// it cancels the start with the call, and keeps the error as the end of the container. CRI has no
// other sign of it than the error's text.
func isStartCancelled(s *cri.ContainerStatus) bool {
	// As containerd ends all starts that have failed, and as Go says that a call was cancelled.
	const exitCode, reason, cancelled = 128, "StartError", "context canceled"
	return s.GetState() == cri.ContainerState_CONTAINER_EXITED && s.GetExitCode() == exitCode && s.GetReason() == reason &&
		strings.Contains(s.GetMessage(), cancelled)
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

// sandboxSecurity has what CRI takes for a sandbox as a whole: capabilities,
// paths and privileges to come are matters of containers.
func sandboxSecurity(s *runtime.Security, n runtime.Namespaces) *cri.LinuxSandboxSecurityContext {
	return &cri.LinuxSandboxSecurityContext{
		NamespaceOptions:         namespaces(n),
		SelinuxOptions:           seLinux(s.SELinux),
		RunAsUser:                id(s.User),
		RunAsGroup:               id(s.Group),
		ReadonlyRootfs:           s.ReadOnlyRoot,
		SupplementalGroups:       s.SupplementalGroups,
		Privileged:               s.Privileged,
		SupplementalGroupsPolicy: groupsPolicy(s.StrictGroups),
		Seccomp:                  profile(s.Seccomp),
		Apparmor:                 profile(s.AppArmor),
	}
}

func containerSecurity(s *runtime.Security, n runtime.Namespaces) *cri.LinuxContainerSecurityContext {
	out := &cri.LinuxContainerSecurityContext{
		Privileged:               s.Privileged,
		NamespaceOptions:         namespaces(n),
		SelinuxOptions:           seLinux(s.SELinux),
		RunAsUser:                id(s.User),
		RunAsGroup:               id(s.Group),
		RunAsUsername:            s.Username,
		ReadonlyRootfs:           s.ReadOnlyRoot,
		SupplementalGroups:       s.SupplementalGroups,
		NoNewPrivs:               s.NoNewPrivileges,
		SupplementalGroupsPolicy: groupsPolicy(s.StrictGroups),
		MaskedPaths:              s.MaskedPaths,
		ReadonlyPaths:            s.ReadOnlyPaths,
		Seccomp:                  profile(s.Seccomp),
		Apparmor:                 profile(s.AppArmor),
	}
	if len(s.AddCapabilities)+len(s.DropCapabilities) > 0 {
		out.Capabilities = &cri.Capability{AddCapabilities: s.AddCapabilities, DropCapabilities: s.DropCapabilities}
	}
	return out
}

func groupsPolicy(strict bool) cri.SupplementalGroupsPolicy {
	if strict {
		return cri.SupplementalGroupsPolicy_Strict
	}
	return cri.SupplementalGroupsPolicy_Merge
}

func id(n *int64) *cri.Int64Value {
	if n == nil {
		return nil
	}
	return &cri.Int64Value{Value: *n}
}

func seLinux(s *runtime.SELinux) *cri.SELinuxOption {
	if s == nil {
		return nil
	}
	return &cri.SELinuxOption{User: s.User, Role: s.Role, Type: s.Type, Level: s.Level}
}

// profile is nil where nothing is asked for, which leaves it to the runtime. One
// of a type that is not known here is the runtime's own, never none.
func profile(p runtime.Profile) *cri.SecurityProfile {
	switch p.Type {
	case "":
		return nil
	case "Unconfined":
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}
	case "Localhost":
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: p.Path}
	}
	return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}
}

// Resources are shares in the kernel's units; nil if nothing is asked for.
func Resources(r runtime.Resources) *cri.LinuxContainerResources {
	if reflect.ValueOf(r).IsZero() {
		return nil
	}
	out := &cri.LinuxContainerResources{
		CpuShares:          bounded(r.CPUShares),
		CpuPeriod:          int64(r.CPUPeriod / time.Microsecond),
		CpuQuota:           int64(r.CPUQuota / time.Microsecond),
		MemoryLimitInBytes: max(r.MemoryBytes, runtime.Unlimited),
		CpusetCpus:         r.CPUSet,
		CpusetMems:         r.MemorySet,
		OomScoreAdj:        int64(r.OOMScoreAdj),
	}
	if r.CPUQuota < 0 {
		out.CpuQuota = runtime.Unlimited
	}
	out.MemorySwapLimitInBytes = memoryAndSwap(r.MemoryBytes, r.SwapBytes)
	for _, size := range slices.Sorted(maps.Keys(r.HugePages)) {
		out.HugepageLimits = append(out.HugepageLimits, &cri.HugepageLimit{PageSize: pageSize(size), Limit: r.HugePages[size]})
	}
	if r.PIDs != 0 {
		out.Unified = map[string]string{"pids.max": pids(r.PIDs)}
	}
	return out
}

// memoryAndSwap is the limit of both together, which is how CRI counts swap.
func memoryAndSwap(memory, swap int64) int64 {
	if swap == 0 {
		return 0
	}
	if min(swap, memory) < 0 {
		return runtime.Unlimited
	}
	return bounded(uint64(memory) + uint64(swap))
}

// pids is a limit as the kernel writes it.
func pids(n int64) string {
	if n < 0 {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}

// pageSize is a size as the kernel names its files: 2MB for the 2Mi of a pod, or
// for its 2048Ki. What is no size stays as it is.
func pageSize(size string) string {
	q, err := podspec.ParseQuantity(size)
	if err != nil {
		return size
	}
	n, unit := q.Value(), 0
	for units := len(pageUnits) - 1; unit < units && n > 0 && n%1024 == 0; unit++ {
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + pageUnits[unit]
}

var pageUnits = [...]string{"B", "KB", "MB", "GB"}

// bounded is a number that cannot turn negative.
func bounded(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
