package validation

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Default fills in what a pod leaves out, as the API server would. It is
// idempotent. Not filled in: what only a scheduler or an API object could
// decide (priority, service account, node), and defaults of volumes that need
// a cluster.
func Default(pod *v1.Pod) {
	if pod == nil {
		return
	}
	spec := &pod.Spec
	pod.Namespace = cmp.Or(pod.Namespace, v1.NamespaceDefault)
	orDefault(&spec.RestartPolicy, v1.RestartPolicyAlways)
	orDefault(&spec.DNSPolicy, v1.DNSClusterFirst)
	orDefault(&spec.SchedulerName, v1.DefaultSchedulerName)
	orPointer(&spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)
	orPointer(&spec.EnableServiceLinks, v1.DefaultEnableServiceLinks)
	orPointer(&spec.SecurityContext, v1.PodSecurityContext{})
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i].VolumeSource)
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i], spec.HostNetwork)
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i], spec.HostNetwork)
	}
	for i := range spec.EphemeralContainers {
		c := v1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&c, spec.HostNetwork)
		spec.EphemeralContainers[i].EphemeralContainerCommon = v1.EphemeralContainerCommon(c)
	}
	if spec.Resources != nil && !anyRequests(spec.Containers) {
		defaultRequests(spec.Resources)
	}
}

// orDefault sets what is zero.
func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// orPointer sets what is nil.
func orPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func defaultContainer(c *v1.Container, hostNetwork bool) {
	orDefault(&c.ImagePullPolicy, pullPolicy(c.Image))
	orDefault(&c.TerminationMessagePath, v1.TerminationMessagePathDefault)
	orDefault(&c.TerminationMessagePolicy, v1.TerminationMessageReadFile)
	for i := range c.Ports {
		orDefault(&c.Ports[i].Protocol, v1.ProtocolTCP)
		if hostNetwork {
			orDefault(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				orPointer(&from.FileKeyRef.Optional, false)
			}
		}
	}
	defaultRequests(&c.Resources)
	for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		defaultProbe(p)
	}
	if c.Lifecycle != nil {
		defaultHook(c.Lifecycle.PostStart)
		defaultHook(c.Lifecycle.PreStop)
	}
	if c.SecurityContext != nil {
		orPointer(&c.SecurityContext.ProcMount, v1.DefaultProcMount)
	}
}

// pullPolicy is Always for an image whose tag is latest, written or implied.
func pullPolicy(image string) v1.PullPolicy {
	if strings.Contains(image, "@") {
		return v1.PullIfNotPresent // A digest cannot change.
	}
	last := image[strings.LastIndexByte(image, '/')+1:] // A colon before that is a registry's port.
	if _, tag, ok := strings.Cut(last, ":"); ok && tag != "latest" {
		return v1.PullIfNotPresent
	}
	return v1.PullAlways
}

// defaultRequests asks for as much as the limit allows, where nothing is said.
func defaultRequests(r *v1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = v1.ResourceList{}
		}
		r.Requests[name] = limit.DeepCopy()
	}
}

func anyRequests(containers []v1.Container) bool {
	return slices.ContainsFunc(containers, func(c v1.Container) bool { return len(c.Resources.Requests) > 0 })
}

func defaultProbe(p *v1.Probe) {
	if p == nil {
		return
	}
	orDefault(&p.TimeoutSeconds, 1)
	orDefault(&p.PeriodSeconds, 10)
	orDefault(&p.SuccessThreshold, 1)
	orDefault(&p.FailureThreshold, 3)
	defaultHTTP(p.HTTPGet)
	if p.GRPC != nil {
		orPointer(&p.GRPC.Service, "")
	}
}

func defaultHook(h *v1.LifecycleHandler) {
	if h != nil {
		defaultHTTP(h.HTTPGet)
	}
}

func defaultHTTP(get *v1.HTTPGetAction) {
	if get != nil {
		orDefault(&get.Path, "/")
		orDefault(&get.Scheme, v1.URISchemeHTTP)
	}
}

func defaultFieldRef(ref *v1.ObjectFieldSelector) {
	if ref != nil {
		orDefault(&ref.APIVersion, "v1")
	}
}

// defaultVolume completes one volume: without a source it is an emptyDir.
func defaultVolume(v *v1.VolumeSource) {
	if *v == (v1.VolumeSource{}) {
		v.EmptyDir = &v1.EmptyDirVolumeSource{}
	}
	if v.HostPath != nil {
		orPointer(&v.HostPath.Type, v1.HostPathUnset)
	}
	if v.Secret != nil {
		orPointer(&v.Secret.DefaultMode, v1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		orPointer(&v.ConfigMap.DefaultMode, v1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		orPointer(&v.DownwardAPI.DefaultMode, v1.DownwardAPIVolumeSourceDefaultMode)
		defaultFiles(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		orPointer(&v.Projected.DefaultMode, v1.ProjectedVolumeSourceDefaultMode)
		for _, s := range v.Projected.Sources {
			defaultProjection(s)
		}
	}
	if v.Image != nil {
		orDefault(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	}
}

func defaultProjection(p v1.VolumeProjection) {
	if p.ServiceAccountToken != nil {
		orPointer(&p.ServiceAccountToken.ExpirationSeconds, 60*60)
	}
	if p.DownwardAPI != nil {
		defaultFiles(p.DownwardAPI.Items)
	}
}

func defaultFiles(files []v1.DownwardAPIVolumeFile) {
	for _, f := range files {
		defaultFieldRef(f.FieldRef)
	}
}
