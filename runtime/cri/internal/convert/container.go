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

// CreateContainer returns the CRI request for a container. sandbox and sandboxAttempt describe its
// sandbox.
func CreateContainer(req runtime.CreateContainerRequest, sandbox SandboxContext, sandboxAttempt uint32, owner string) *cri.CreateContainerRequest {
	config := &cri.ContainerConfig{
		Metadata:    &cri.ContainerMetadata{Name: req.Name, Attempt: req.Attempt},
		Image:       &cri.ImageSpec{Image: cmp.Or(req.ImageRef, req.Image), UserSpecifiedImage: req.Image},
		Command:     req.Command,
		Args:        req.Args,
		WorkingDir:  req.WorkingDir,
		Envs:        toCRIEnv(req.Env),
		Mounts:      toCRIMounts(req.Mounts, sandbox.Namespaces.Users),
		Devices:     toCRIDevices(req.Devices),
		CDIDevices:  toCRICDIDevices(req.CDIDevices),
		Labels:      labelsWithPodAndOwner(req.Labels, req.Pod, owner),
		Annotations: annotationsWithIncarnation(req.Annotations, req.Pod),
		LogPath:     req.LogPath,
		Stdin:       req.Stdin,
		StdinOnce:   req.StdinOnce,
		Tty:         req.TTY,
		Linux: &cri.LinuxContainerConfig{
			Resources:       Resources(req.Resources),
			SecurityContext: toCRIContainerSecurity(&req.Security, sandbox.Namespaces),
		},
	}
	if pid := config.Linux.SecurityContext.NamespaceOptions; req.PIDTarget != "" && pid.Pid == cri.NamespaceMode_CONTAINER {
		pid.Pid, pid.TargetId = cri.NamespaceMode_TARGET, req.PIDTarget
	}
	config.StopSignal, _ = StopSignal(req.StopSignal) // The caller has checked the name.
	config.Labels[LabelContainerName] = req.Name
	config.Annotations[AnnotationImage] = req.Image
	return &cri.CreateContainerRequest{
		PodSandboxId: req.SandboxID, Config: config, SandboxConfig: sandboxConfigForContainer(&req, sandbox, sandboxAttempt),
	}
}

func toCRIEnv(vars []runtime.EnvVar) []*cri.KeyValue {
	var out []*cri.KeyValue
	for _, v := range vars {
		out = append(out, &cri.KeyValue{Key: v.Name, Value: []byte(v.Value)})
	}
	return out
}

// toCRIMounts converts mounts to CRI mounts. If userNamespace is not nil, each mount gets the ID mappings of
// the pod's user namespace, so that files have the same owners inside as on the host.
func toCRIMounts(all []runtime.Mount, userNamespace *runtime.UserNamespace) []*cri.Mount {
	var out []*cri.Mount
	for _, m := range all {
		c := &cri.Mount{
			ContainerPath: m.ContainerPath, HostPath: m.HostPath, Readonly: m.ReadOnly,
			Propagation: toCRIPropagation(m.Propagation),
			// The caller has checked whether the runtime supports it.
			RecursiveReadOnly: m.RecursiveReadOnly != runtime.RecursiveReadOnlyDisabled,
		}
		if m.Image != "" {
			c.Image, c.ImageSubPath = &cri.ImageSpec{Image: m.Image}, m.ImageSubPath
		}
		if userNamespace != nil {
			c.UidMappings, c.GidMappings = toCRIIDMappings(userNamespace.UIDs), toCRIIDMappings(userNamespace.GIDs)
		}
		out = append(out, c)
	}
	return out
}

func toCRIPropagation(p runtime.Propagation) cri.MountPropagation {
	switch p {
	case runtime.PropagationHostToContainer:
		return cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER
	case runtime.PropagationBidirectional:
		return cri.MountPropagation_PROPAGATION_BIDIRECTIONAL
	}
	return cri.MountPropagation_PROPAGATION_PRIVATE
}

func toCRIDevices(all []runtime.Device) []*cri.Device {
	var out []*cri.Device
	for _, d := range all {
		out = append(out, &cri.Device{ContainerPath: d.ContainerPath, HostPath: d.HostPath, Permissions: d.Permissions})
	}
	return out
}

// toCRICDIDevices converts names of devices of the Container Device Interface.
func toCRICDIDevices(names []string) []*cri.CDIDevice {
	var out []*cri.CDIDevice
	for _, name := range names {
		out = append(out, &cri.CDIDevice{Name: name})
	}
	return out
}

// StopSignal returns the CRI signal for a name, with or without SIG, also RTMIN+1. The zero signal
// for an empty name leaves the choice to the runtime.
func StopSignal(name string) (signal cri.Signal, ok bool) {
	if name == "" {
		return 0, true
	}
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	name = strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(name)
	n, ok := cri.Signal_value["SIG"+name]
	if !ok {
		n, ok = cri.Signal_value["SIGNAL_SIG"+name] // The prefix since k8s.io/cri-api 0.37.
	}
	return cri.Signal(n), ok
}

// ContainerStatus merges the list entry and the CRI status of a container.
func ContainerStatus(listed runtime.Container, s *cri.ContainerStatus) runtime.ContainerStatus {
	out := runtime.ContainerStatus{
		Container:   listed,
		Image:       cmp.Or(s.GetAnnotations()[AnnotationImage], s.GetImage().GetUserSpecifiedImage(), s.GetImage().GetImage()),
		ImageRef:    cmp.Or(s.GetImageRef(), s.GetImageId()),
		CreatedAt:   timeFromNanos(s.GetCreatedAt()),
		StartedAt:   timeFromNanos(s.GetStartedAt()),
		FinishedAt:  timeFromNanos(s.GetFinishedAt()),
		ExitCode:    s.GetExitCode(),
		Reason:      s.GetReason(),
		Message:     s.GetMessage(),
		Annotations: s.GetAnnotations(),
	}
	out.StartCancelled = isStartCancelled(s)
	if linux := s.GetResources().GetLinux(); linux != nil {
		out.Resources = reportedResources(linux)
	}
	for _, m := range s.GetMounts() {
		if image := m.GetImage().GetImage(); image != "" {
			out.MountedImages = append(out.MountedImages, image)
		}
	}
	if user := s.GetUser().GetLinux(); user != nil {
		out.User = &runtime.LinuxContainerUser{UID: user.GetUid(), GID: user.GetGid(), SupplementalGroups: user.GetSupplementalGroups()}
	}
	out.State = State(s.GetState())
	return out
}

// reportedResources converts the CPU and memory settings that CRI reports for a container.
func reportedResources(linux *cri.LinuxContainerResources) *runtime.Resources {
	r := &runtime.Resources{
		CPUShares: uint64(max(linux.GetCpuShares(), 0)), CPUPeriod: time.Duration(linux.GetCpuPeriod()) * time.Microsecond,
		MemoryBytes: max(linux.GetMemoryLimitInBytes(), runtime.Unlimited),
	}
	switch quota := linux.GetCpuQuota(); {
	case quota < 0:
		r.CPUQuota = runtime.Unlimited
	case quota <= math.MaxInt64/int64(time.Microsecond):
		r.CPUQuota = time.Duration(quota) * time.Microsecond
	}
	return r
}

// isStartCancelled reports whether containerd cancelled the start of a container because the caller's context
// ended. It compares the exit code, reason and message of the exited container, because CRI shows this in no
// other way.
func isStartCancelled(s *cri.ContainerStatus) bool {
	// containerd sets this code and reason for every failed start. The text is Go's for a cancelled context.
	const exitCode, reason, cancelled = 128, "StartError", "context canceled"
	return s.GetState() == cri.ContainerState_CONTAINER_EXITED && s.GetExitCode() == exitCode && s.GetReason() == reason &&
		strings.Contains(s.GetMessage(), cancelled)
}

// State converts a container state. An unknown value is StateUnknown.
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

// toCRISandboxSecurity converts the fields of a security context that CRI accepts for a sandbox. Capabilities,
// masked paths and NoNewPrivileges are left out, because CRI accepts them only for containers.
func toCRISandboxSecurity(s *runtime.Security, n runtime.Namespaces) *cri.LinuxSandboxSecurityContext {
	return &cri.LinuxSandboxSecurityContext{
		NamespaceOptions:         toCRINamespaces(n),
		SelinuxOptions:           toCRISELinux(s.SELinux),
		RunAsUser:                toCRIInt64(s.User),
		RunAsGroup:               toCRIInt64(s.Group),
		ReadonlyRootfs:           s.ReadOnlyRoot,
		SupplementalGroups:       s.SupplementalGroups,
		Privileged:               s.Privileged,
		SupplementalGroupsPolicy: toCRIGroupsPolicy(s.StrictGroups),
		Seccomp:                  toCRIProfile(s.Seccomp),
		Apparmor:                 toCRIProfile(s.AppArmor),
	}
}

func toCRIContainerSecurity(s *runtime.Security, n runtime.Namespaces) *cri.LinuxContainerSecurityContext {
	out := &cri.LinuxContainerSecurityContext{
		Privileged:               s.Privileged,
		NamespaceOptions:         toCRINamespaces(n),
		SelinuxOptions:           toCRISELinux(s.SELinux),
		RunAsUser:                toCRIInt64(s.User),
		RunAsGroup:               toCRIInt64(s.Group),
		RunAsUsername:            s.Username,
		ReadonlyRootfs:           s.ReadOnlyRoot,
		SupplementalGroups:       s.SupplementalGroups,
		NoNewPrivs:               s.NoNewPrivileges,
		SupplementalGroupsPolicy: toCRIGroupsPolicy(s.StrictGroups),
		MaskedPaths:              s.MaskedPaths,
		ReadonlyPaths:            s.ReadOnlyPaths,
		Seccomp:                  toCRIProfile(s.Seccomp),
		Apparmor:                 toCRIProfile(s.AppArmor),
	}
	if len(s.AddCapabilities)+len(s.DropCapabilities) > 0 {
		out.Capabilities = &cri.Capability{AddCapabilities: s.AddCapabilities, DropCapabilities: s.DropCapabilities}
	}
	return out
}

func toCRIGroupsPolicy(strict bool) cri.SupplementalGroupsPolicy {
	if strict {
		return cri.SupplementalGroupsPolicy_Strict
	}
	return cri.SupplementalGroupsPolicy_Merge
}

func toCRIInt64(n *int64) *cri.Int64Value {
	if n == nil {
		return nil
	}
	return &cri.Int64Value{Value: *n}
}

func toCRISELinux(s *runtime.SELinux) *cri.SELinuxOption {
	if s == nil {
		return nil
	}
	return &cri.SELinuxOption{User: s.User, Role: s.Role, Type: s.Type, Level: s.Level}
}

// toCRIProfile converts a seccomp or AppArmor profile. It returns nil for an unspecified profile, which leaves
// the choice to the runtime. An unknown type becomes RuntimeDefault, and never Unconfined.
func toCRIProfile(p runtime.Profile) *cri.SecurityProfile {
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

// Resources converts resources to CRI. It returns nil if none are specified.
func Resources(r runtime.Resources) *cri.LinuxContainerResources {
	if reflect.ValueOf(r).IsZero() {
		return nil
	}
	out := &cri.LinuxContainerResources{
		CpuShares:          clampToInt64(r.CPUShares),
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
	out.MemorySwapLimitInBytes = memoryPlusSwapLimit(r.MemoryBytes, r.SwapBytes)
	for _, size := range slices.Sorted(maps.Keys(r.HugePages)) {
		out.HugepageLimits = append(out.HugepageLimits, &cri.HugepageLimit{PageSize: formatPageSize(size), Limit: r.HugePages[size]})
	}
	if r.PIDs != 0 {
		out.Unified = map[string]string{"pids.max": formatPidsMax(r.PIDs)}
	}
	return out
}

// memoryPlusSwapLimit returns the sum of a memory and a swap limit, because the swap limit of CRI includes
// memory. It returns zero if the swap limit is zero (not set). It returns Unlimited if one of the limits is
// negative.
func memoryPlusSwapLimit(memory, swap int64) int64 {
	if swap == 0 {
		return 0
	}
	if min(swap, memory) < 0 {
		return runtime.Unlimited
	}
	return clampToInt64(uint64(memory) + uint64(swap))
}

// formatPidsMax formats a PID limit for the cgroup file pids.max. A negative limit gives "max".
func formatPidsMax(maxIfNegative int64) string {
	if maxIfNegative < 0 {
		return "max"
	}
	return strconv.FormatInt(maxIfNegative, 10)
}

// formatPageSize formats a huge page size as in the names of hugetlb cgroup files: 2MB for 2Mi or 2048Ki. It
// returns an invalid size unchanged.
func formatPageSize(size string) string {
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

// clampToInt64 converts n to int64. A larger number becomes the maximum int64.
func clampToInt64(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
