package request

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podfields"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/runtime"
)

// Problem is a field of a pod that is not honoured.
type Problem struct {
	Field string // for example "spec.containers[0].livenessProbe"
	Why   string // the reason in words
}

// Features is what pods can use beyond running containers. A field that is false or nil is unsupported.
type Features struct {
	// Probes, GRPCProbes, ExecProbes: probes of these kinds run.
	Probes, GRPCProbes, ExecProbes bool
	// ExecHooks, HTTPHooks: hooks that run a command, and hooks that send a request.
	ExecHooks, HTTPHooks bool
	// Deadlines: pods terminate at the end of their activeDeadlineSeconds.
	Deadlines bool
	// Hosts: the hosts file is written, and termination messages are read.
	Hosts bool
	// Logs: the runtime can read the logs of containers.
	Logs bool
	// Volumes: the node has volumes. Another package checks which of the pod's volumes are supported.
	Volumes bool
	// VolumeFiles: variables can come from files in volumes.
	VolumeFiles bool
	// Runtime has the optional features of the runtime.
	Runtime runtime.Features
	// Handlers are the runtime handlers by the name of their RuntimeClass.
	Handlers map[string]string
}

// Unsupported lists the fields of a pod that need missing features. The fields in rejected change the
// meaning of the pod. The fields in ignored do not change what runs.
func Unsupported(pod *v1.Pod, features Features) (rejected, ignored []Problem) {
	u := unsupportedFields{features: features, checkedPod: pod}
	for _, field := range podfields.Unknown(pod) {
		u.rejectIf(true, field, "this version was written for an API without it")
	}
	u.checkDroppedFields()
	u.checkPodSpec()
	u.checkImageVolumes()
	u.checkPodSecurity(pod.Spec.SecurityContext)
	u.ignoreAnnotationsWithoutEffect()
	for i := range pod.Spec.InitContainers {
		u.rejectOrIgnoreContainerFields(fmt.Sprintf("spec.initContainers[%d]", i), &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		u.rejectOrIgnoreContainerFields(fmt.Sprintf("spec.containers[%d]", i), &pod.Spec.Containers[i])
	}
	for i := range pod.Spec.EphemeralContainers {
		c := (*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		u.rejectOrIgnoreContainerFields(fmt.Sprintf("spec.ephemeralContainers[%d]", i), c)
	}
	return u.rejected, u.ignored
}

// unsupportedFields collects the problems of a pod.
type unsupportedFields struct {
	features          Features
	checkedPod        *v1.Pod
	rejected, ignored []Problem
}

// rejectIf adds a field with the reason why to rejected, if found is true. A pod with a rejected field does not
// run.
func (u *unsupportedFields) rejectIf(found bool, field, why string) {
	if found {
		u.rejected = append(u.rejected, Problem{field, why})
	}
}

// ignoreIf adds a field with the reason why to ignored, if found is true. A pod with an ignored field runs, and
// the field has no effect.
func (u *unsupportedFields) ignoreIf(found bool, field, why string) {
	if found {
		u.ignored = append(u.ignored, Problem{field, why})
	}
}

// checkDroppedFields adds the fields that the decoder dropped because only newer Kubernetes versions have them.
// It rejects a field of a known list, unless a container of the pod was already created. It ignores any other
// field.
func (u *unsupportedFields) checkDroppedFields() {
	names := u.checkedPod.Annotations[podfields.Annotation]
	if names == "" {
		return
	}
	started := hasCreatedContainer(u.checkedPod)
	for field := range strings.SplitSeq(names, ",") {
		since, listed := podfields.Newer(field)
		why := "a field of Kubernetes " + since + " that this version does not have"
		if !listed {
			why = "a field of a newer version of Kubernetes that this version does not have"
		}
		u.rejectIf(listed && !started, field, why)
		u.ignoreIf(!listed || started, field, why)
	}
}

// hasCreatedContainer reports whether the pod status shows that an init or regular container was created: a
// container ID or a last termination.
func hasCreatedContainer(pod *v1.Pod) bool {
	made := func(c v1.ContainerStatus) bool {
		return c.ContainerID != "" || c.LastTerminationState.Terminated != nil
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, made) || slices.ContainsFunc(pod.Status.InitContainerStatuses, made)
}

// checkPodSpec adds the unsupported pod-level fields of the spec to rejected. Containers, security contexts and
// image volumes have their own checks.
func (u *unsupportedFields) checkPodSpec() {
	s := &u.checkedPod.Spec
	u.rejectIf(len(s.Volumes) > 0 && !u.features.Volumes, "spec.volumes", "volumes are not mounted")
	u.rejectIf(s.ActiveDeadlineSeconds != nil && !u.features.Deadlines, "spec.activeDeadlineSeconds", "deadlines are not watched")
	u.rejectIf(s.HostUsers != nil && !*s.HostUsers, "spec.hostUsers", "user namespaces are not made")
	if s.RuntimeClassName != nil && *s.RuntimeClassName != "" {
		_, known := u.features.Handlers[*s.RuntimeClassName]
		u.rejectIf(!known, "spec.runtimeClassName", fmt.Sprintf("the class %q is not known", *s.RuntimeClassName))
	}
	u.rejectIf(len(s.ResourceClaims) > 0, "spec.resourceClaims", "resources are not claimed")
	u.rejectIf(len(s.HostAliases) > 0 && !u.features.Hosts, "spec.hostAliases", "the hosts file is not written")
}

// checkImageVolumes adds to rejected the image volumes that the runtime cannot mount, and the mounts with a
// subPath if it mounts only whole images. It rejects nothing if the runtime's support is unknown.
func (u *unsupportedFields) checkImageVolumes() {
	if !u.features.Volumes || u.features.Runtime.ImageMounts == runtime.ImageMountsAll || u.features.Runtime.ImageMounts == runtime.ImageMountsUnknown {
		return
	}
	images := map[string]bool{}
	for i := range u.checkedPod.Spec.Volumes {
		if v := &u.checkedPod.Spec.Volumes[i]; v.Image != nil {
			images[v.Name] = true
			u.rejectIf(u.features.Runtime.ImageMounts == runtime.ImageMountsNone, fmt.Sprintf("spec.volumes[%d].image", i), "the runtime mounts no images")
		}
	}
	if u.features.Runtime.ImageMounts == runtime.ImageMountsWhole {
		u.checkImageSubPaths(images)
	}
}

// checkImageSubPaths adds to rejected each subPath and subPathExpr in a mount of an image volume, for every
// container of the pod. images has the names of the image volumes.
func (u *unsupportedFields) checkImageSubPaths(images map[string]bool) {
	of := func(field string, mounts []v1.VolumeMount) {
		for i := range mounts {
			m, at := &mounts[i], fmt.Sprintf("%s.volumeMounts[%d].", field, i)
			u.rejectIf(images[m.Name] && m.SubPath != "", at+"subPath", "the runtime mounts whole images only")
			u.rejectIf(images[m.Name] && m.SubPathExpr != "", at+"subPathExpr", "the runtime mounts whole images only")
		}
	}
	s := &u.checkedPod.Spec
	for i := range s.InitContainers {
		of(fmt.Sprintf("spec.initContainers[%d]", i), s.InitContainers[i].VolumeMounts)
	}
	for i := range s.Containers {
		of(fmt.Sprintf("spec.containers[%d]", i), s.Containers[i].VolumeMounts)
	}
	for i := range s.EphemeralContainers {
		of(fmt.Sprintf("spec.ephemeralContainers[%d]", i), s.EphemeralContainers[i].VolumeMounts)
	}
}

// checkPodSecurity adds the unsupported fields of the pod's security context to rejected or ignored. It does
// nothing if s is nil.
func (u *unsupportedFields) checkPodSecurity(s *v1.PodSecurityContext) {
	if s == nil {
		return
	}
	const field = "spec.securityContext."
	u.rejectIf(hasStrictGroups(s) && u.features.Runtime.StrictGroups == runtime.SupportNone,
		field+"supplementalGroupsPolicy", "the runtime cannot leave out the groups that an image has for a user")
	if policy := s.SupplementalGroupsPolicy; policy != nil {
		u.rejectIf(*policy != v1.SupplementalGroupsPolicyMerge && *policy != v1.SupplementalGroupsPolicyStrict,
			field+"supplementalGroupsPolicy", fmt.Sprintf("the policy %q is not known", *policy))
	}
	u.rejectIf(s.WindowsOptions != nil, field+"windowsOptions", "Windows containers are not run")
	u.ignoreIf(s.FSGroup != nil && !u.features.Volumes, field+"fsGroup", "there are no volumes")
	u.ignoreIf(s.SELinuxChangePolicy != nil, field+"seLinuxChangePolicy", "volumes are not labelled")
}

// rejectOrIgnoreContainerFields adds the unsupported fields of a container, including its probes, hooks and
// environment, to rejected or ignored. field is the path of the container.
func (u *unsupportedFields) rejectOrIgnoreContainerFields(field string, c *v1.Container) {
	field += "."
	u.rejectUnsupportedProbe(field+"livenessProbe", c.LivenessProbe)
	u.rejectUnsupportedProbe(field+"readinessProbe", c.ReadinessProbe)
	u.rejectUnsupportedProbe(field+"startupProbe", c.StartupProbe)
	u.rejectUnsupportedHooks(field+"lifecycle.", c.Lifecycle)
	u.rejectIf(len(c.VolumeMounts) > 0 && !u.features.Volumes, field+"volumeMounts", "volumes are not mounted")
	u.rejectIf(len(c.VolumeDevices) > 0, field+"volumeDevices", "block volumes are not known")
	u.rejectIf(len(c.Resources.Claims) > 0, field+"resources.claims", "resources are not claimed")
	u.ignoreIf(len(c.ResizePolicy) > 0 && u.features.Runtime.Updater == nil, field+"resizePolicy", "the runtime cannot update running containers")
	u.ignoreIf(c.TerminationMessagePath != "" && c.TerminationMessagePath != v1.TerminationMessagePathDefault && !u.features.Hosts,
		field+"terminationMessagePath", "termination messages are not read")
	u.ignoreIf(c.TerminationMessagePolicy == v1.TerminationMessageFallbackToLogsOnError && !u.features.Logs,
		field+"terminationMessagePolicy", "the runtime keeps no logs that could be read")
	u.rejectUnresolvableVariables(field, c)
	if s := c.SecurityContext; s != nil {
		u.rejectIf(s.WindowsOptions != nil, field+"securityContext.windowsOptions", "Windows containers are not run")
		u.rejectIf(s.ProcMount != nil && *s.ProcMount != v1.DefaultProcMount, field+"securityContext.procMount", "only Default is known")
	}
}

// rejectUnsupportedProbe records the problem that the agent cannot run a probe. Every probe is a problem if the
// agent runs no probes at all. Otherwise an exec or gRPC probe is a problem if the agent cannot run that kind. It
// does nothing if p is nil.
func (u *unsupportedFields) rejectUnsupportedProbe(field string, p *v1.Probe) {
	switch {
	case p == nil:
	case !u.features.Probes:
		u.rejectIf(true, field, "probes are not made")
	case p.Exec != nil:
		u.rejectIf(!u.features.ExecProbes, field+".exec", "the runtime runs no commands in containers")
	case p.GRPC != nil:
		u.rejectIf(!u.features.GRPCProbes, field+".grpc", "probes by gRPC are not made")
	}
}

// rejectUnsupportedHooks adds the postStart hook and the preStop hook to rejected if their kinds are not
// supported.
func (u *unsupportedFields) rejectUnsupportedHooks(field string, l *v1.Lifecycle) {
	if l != nil {
		u.rejectUnsupportedHook(field+"postStart", l.PostStart)
		u.rejectUnsupportedHook(field+"preStop", l.PreStop)
	}
}

// rejectUnsupportedHook adds a hook to rejected if the agent cannot run it. That is the case for every
// tcpSocket hook, and for an exec or HTTP hook if the agent cannot run such hooks. It does nothing if h is nil.
func (u *unsupportedFields) rejectUnsupportedHook(field string, h *v1.LifecycleHandler) {
	switch {
	case h == nil:
	case h.Exec != nil:
		u.rejectIf(!u.features.ExecHooks, field+".exec", "the runtime runs no commands in containers")
	case h.HTTPGet != nil:
		u.rejectIf(!u.features.HTTPHooks, field+".httpGet", "hooks make no requests")
	case h.TCPSocket != nil:
		u.rejectIf(true, field+".tcpSocket", "has never had a meaning")
	}
}

// rejectUnresolvableVariables adds to rejected the environment variables of a container that can never be
// resolved. It also adds fileKeyRefs if files in volumes are not read.
func (u *unsupportedFields) rejectUnresolvableVariables(field string, c *v1.Container) {
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		u.rejectIf(from != nil && from.FileKeyRef != nil && !u.features.VolumeFiles, fmt.Sprintf("%senv[%d].valueFrom.fileKeyRef", field, i), "files in volumes are not read")
	}
	for _, p := range environ.Problems(u.checkedPod, c) {
		u.rejectIf(true, field+p.Field, p.Why)
	}
}
