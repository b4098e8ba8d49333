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
	Field string // as "spec.containers[0].livenessProbe"
	Why   string // for people
}

// Features is what a pod can ask for beyond containers that run. What is false or nil is
// unsupported.
type Features struct {
	// Probes are made, also those by gRPC, and those that run a command.
	Probes, GRPCProbes, ExecProbes bool
	// Hooks that run a command are run, and those that make a request.
	ExecHooks, HTTPHooks bool
	// Deadlines: somebody ends pods at the end of their activeDeadlineSeconds.
	Deadlines bool
	// Hosts: the hosts file is written, and termination messages are read.
	Hosts bool
	// Logs: those of containers can be read.
	Logs bool
	// Volumes: there are some. Which of a pod's volumes cannot be had is not said here.
	Volumes bool
	// VolumeFiles: variables come from files in volumes.
	VolumeFiles bool
	// Runtime says what else the runtime can do.
	Runtime runtime.Features
	// Handlers are the runtime handlers by the name of their class.
	Handlers map[string]string
}

// Unsupported lists the fields of a pod that need features which are not there. Those in
// rejected change what the pod means. Those in ignored are missed by people only.
func Unsupported(pod *v1.Pod, features Features) (rejected, ignored []Problem) {
	u := unsupported{features: features, of: pod}
	for _, field := range podfields.Unknown(pod) {
		u.reject(true, field, "this version was written for an API without it")
	}
	u.addDroppedFields()
	u.pod()
	u.imageVolumes()
	u.podSecurity(pod.Spec.SecurityContext)
	u.annotations()
	for i := range pod.Spec.InitContainers {
		u.container(fmt.Sprintf("spec.initContainers[%d]", i), &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		u.container(fmt.Sprintf("spec.containers[%d]", i), &pod.Spec.Containers[i])
	}
	for i := range pod.Spec.EphemeralContainers {
		c := (*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		u.container(fmt.Sprintf("spec.ephemeralContainers[%d]", i), c)
	}
	return u.rejected, u.ignored
}

// unsupported collects problems.
type unsupported struct {
	features          Features
	of                *v1.Pod
	rejected, ignored []Problem
}

func (u *unsupported) reject(found bool, field, why string) {
	if found {
		u.rejected = append(u.rejected, Problem{field, why})
	}
}

func (u *unsupported) ignore(found bool, field, why string) {
	if found {
		u.ignored = append(u.ignored, Problem{field, why})
	}
}

// addDroppedFields looks for fields of a pod of a newer API server, which the decoder has dropped. A pod that has
// started goes on: an earlier version has dropped them too. A field that no list knows is ignored, as the
// server may set it in every pod.
func (u *unsupported) addDroppedFields() {
	names := u.of.Annotations[podfields.Annotation]
	if names == "" {
		return
	}
	started := hasStarted(u.of)
	for field := range strings.SplitSeq(names, ",") {
		since, listed := podfields.Newer(field)
		why := "a field of Kubernetes " + since + " that this version does not have"
		if !listed {
			why = "a field of a newer version of Kubernetes that this version does not have"
		}
		u.reject(listed && !started, field, why)
		u.ignore(!listed || started, field, why)
	}
}

// hasStarted reports whether a container of the pod has ever been made, by its status.
func hasStarted(pod *v1.Pod) bool {
	made := func(c v1.ContainerStatus) bool {
		return c.ContainerID != "" || c.LastTerminationState.Terminated != nil
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, made) || slices.ContainsFunc(pod.Status.InitContainerStatuses, made)
}

func (u *unsupported) pod() {
	s := &u.of.Spec
	u.reject(len(s.Volumes) > 0 && !u.features.Volumes, "spec.volumes", "volumes are not mounted")
	u.reject(s.ActiveDeadlineSeconds != nil && !u.features.Deadlines, "spec.activeDeadlineSeconds", "deadlines are not watched")
	u.reject(s.HostUsers != nil && !*s.HostUsers, "spec.hostUsers", "user namespaces are not made")
	if s.RuntimeClassName != nil && *s.RuntimeClassName != "" {
		_, known := u.features.Handlers[*s.RuntimeClassName]
		u.reject(!known, "spec.runtimeClassName", fmt.Sprintf("the class %q is not known", *s.RuntimeClassName))
	}
	u.reject(len(s.ResourceClaims) > 0, "spec.resourceClaims", "resources are not claimed")
	u.reject(len(s.HostAliases) > 0 && !u.features.Hosts, "spec.hostAliases", "the hosts file is not written")
}

// imageVolumes looks for image volumes that the runtime does not mount.
func (u *unsupported) imageVolumes() {
	if !u.features.Volumes || u.features.Runtime.ImageMounts == runtime.ImageMountsAll || u.features.Runtime.ImageMounts == runtime.ImageMountsUnknown {
		return
	}
	images := map[string]bool{}
	for i := range u.of.Spec.Volumes {
		if v := &u.of.Spec.Volumes[i]; v.Image != nil {
			images[v.Name] = true
			u.reject(u.features.Runtime.ImageMounts == runtime.ImageMountsNone, fmt.Sprintf("spec.volumes[%d].image", i), "the runtime mounts no images")
		}
	}
	if u.features.Runtime.ImageMounts == runtime.ImageMountsWhole {
		u.imageParts(images)
	}
}

// imageParts looks for mounts of a part of an image volume.
func (u *unsupported) imageParts(images map[string]bool) {
	of := func(field string, mounts []v1.VolumeMount) {
		for i := range mounts {
			m, at := &mounts[i], fmt.Sprintf("%s.volumeMounts[%d].", field, i)
			u.reject(images[m.Name] && m.SubPath != "", at+"subPath", "the runtime mounts whole images only")
			u.reject(images[m.Name] && m.SubPathExpr != "", at+"subPathExpr", "the runtime mounts whole images only")
		}
	}
	s := &u.of.Spec
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

func (u *unsupported) podSecurity(s *v1.PodSecurityContext) {
	if s == nil {
		return
	}
	const field = "spec.securityContext."
	u.reject(isStrict(s) && u.features.Runtime.StrictGroups == runtime.SupportNone,
		field+"supplementalGroupsPolicy", "the runtime cannot leave out the groups that an image has for a user")
	u.reject(s.WindowsOptions != nil, field+"windowsOptions", "Windows containers are not run")
	u.ignore(s.FSGroup != nil && !u.features.Volumes, field+"fsGroup", "there are no volumes")
	u.ignore(s.SELinuxChangePolicy != nil, field+"seLinuxChangePolicy", "volumes are not labelled")
}

func (u *unsupported) container(field string, c *v1.Container) {
	field += "."
	u.probe(field+"livenessProbe", c.LivenessProbe)
	u.probe(field+"readinessProbe", c.ReadinessProbe)
	u.probe(field+"startupProbe", c.StartupProbe)
	u.lifecycle(field+"lifecycle.", c.Lifecycle)
	u.reject(len(c.VolumeMounts) > 0 && !u.features.Volumes, field+"volumeMounts", "volumes are not mounted")
	u.reject(len(c.VolumeDevices) > 0, field+"volumeDevices", "block volumes are not known")
	u.reject(len(c.Resources.Claims) > 0, field+"resources.claims", "resources are not claimed")
	u.ignore(len(c.ResizePolicy) > 0, field+"resizePolicy", "resources of a running container are not changed")
	u.ignore(c.TerminationMessagePath != "" && c.TerminationMessagePath != v1.TerminationMessagePathDefault && !u.features.Hosts,
		field+"terminationMessagePath", "termination messages are not read")
	u.ignore(c.TerminationMessagePolicy == v1.TerminationMessageFallbackToLogsOnError && !u.features.Logs,
		field+"terminationMessagePolicy", "the runtime keeps no logs that could be read")
	u.environment(field, c)
	if s := c.SecurityContext; s != nil {
		u.reject(s.WindowsOptions != nil, field+"securityContext.windowsOptions", "Windows containers are not run")
		u.reject(s.ProcMount != nil && *s.ProcMount != v1.DefaultProcMount, field+"securityContext.procMount", "only Default is known")
	}
}

// probe looks at how a container is to be probed.
func (u *unsupported) probe(field string, p *v1.Probe) {
	switch {
	case p == nil:
	case !u.features.Probes:
		u.reject(true, field, "probes are not made")
	case p.Exec != nil:
		u.reject(!u.features.ExecProbes, field+".exec", "the runtime runs no commands in containers")
	case p.GRPC != nil:
		u.reject(!u.features.GRPCProbes, field+".grpc", "probes by gRPC are not made")
	}
}

func (u *unsupported) lifecycle(field string, l *v1.Lifecycle) {
	if l != nil {
		u.hook(field+"postStart", l.PostStart)
		u.hook(field+"preStop", l.PreStop)
	}
}

// hook looks at what is to be done after the start or before the stop.
func (u *unsupported) hook(field string, h *v1.LifecycleHandler) {
	switch {
	case h == nil:
	case h.Exec != nil:
		u.reject(!u.features.ExecHooks, field+".exec", "the runtime runs no commands in containers")
	case h.HTTPGet != nil:
		u.reject(!u.features.HTTPHooks, field+".httpGet", "hooks make no requests")
	case h.TCPSocket != nil:
		u.reject(true, field+".tcpSocket", "has never had a meaning")
	}
}

// environment looks for references that can never be resolved.
func (u *unsupported) environment(field string, c *v1.Container) {
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		u.reject(from != nil && from.FileKeyRef != nil && !u.features.VolumeFiles, fmt.Sprintf("%senv[%d].valueFrom.fileKeyRef", field, i), "files in volumes are not read")
	}
	for _, p := range environ.Problems(u.of, c) {
		u.reject(true, field+p.Field, p.Why)
	}
}
