package validation

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Default sets the fields that a pod leaves out to the defaults of the API server. It is
// idempotent. It does not set the fields that a scheduler or an API object decides (priority,
// service account, node), nor the defaults of volumes that need a cluster.
func Default(pod *v1.Pod) {
	if pod == nil {
		return
	}
	spec := &pod.Spec
	pod.Namespace = cmp.Or(pod.Namespace, v1.NamespaceDefault)
	setIfZero(&spec.RestartPolicy, v1.RestartPolicyAlways)
	setIfZero(&spec.DNSPolicy, v1.DNSClusterFirst)
	setIfZero(&spec.SchedulerName, v1.DefaultSchedulerName)
	setIfNil(&spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)
	setIfNil(&spec.EnableServiceLinks, v1.DefaultEnableServiceLinks)
	setIfNil(&spec.SecurityContext, v1.PodSecurityContext{})
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
	if spec.Resources != nil && !haveAnyRequest(spec.Containers) {
		defaultRequests(spec.Resources)
	}
}

// setIfZero sets a field to defaultValue if the field has its zero value.
func setIfZero[T comparable](field *T, defaultValue T) {
	var zero T
	if *field == zero {
		*field = defaultValue
	}
}

// setIfNil makes a pointer field point to defaultValue if the field is nil.
func setIfNil[T any](field **T, defaultValue T) {
	if *field == nil {
		*field = &defaultValue
	}
}

// defaultContainer sets the API server's defaults in the fields of one container that are not set. With
// hostNetwork, a missing host port becomes the container port.
func defaultContainer(c *v1.Container, hostNetwork bool) {
	setIfZero(&c.ImagePullPolicy, defaultPullPolicy(c.Image))
	setIfZero(&c.TerminationMessagePath, v1.TerminationMessagePathDefault)
	setIfZero(&c.TerminationMessagePolicy, v1.TerminationMessageReadFile)
	for i := range c.Ports {
		setIfZero(&c.Ports[i].Protocol, v1.ProtocolTCP)
		if hostNetwork {
			setIfZero(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				setIfNil(&from.FileKeyRef.Optional, false)
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
		setIfNil(&c.SecurityContext.ProcMount, v1.DefaultProcMount)
	}
}

// defaultPullPolicy returns Always for an image without a digest whose tag is latest or missing. For other
// images it returns IfNotPresent.
func defaultPullPolicy(image string) v1.PullPolicy {
	if strings.Contains(image, "@") {
		return v1.PullIfNotPresent // A digest cannot change.
	}
	last := image[strings.LastIndexByte(image, '/')+1:] // A colon before the last slash separates the port of the registry.
	if _, tag, ok := strings.Cut(last, ":"); ok && tag != "latest" {
		return v1.PullIfNotPresent
	}
	return v1.PullAlways
}

// defaultRequests sets the request for each resource that has a limit and no request to that limit.
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

// haveAnyRequest reports whether at least one of the containers has a resource request.
func haveAnyRequest(containers []v1.Container) bool {
	return slices.ContainsFunc(containers, func(c v1.Container) bool { return len(c.Resources.Requests) > 0 })
}

func defaultProbe(p *v1.Probe) {
	if p == nil {
		return
	}
	setIfZero(&p.TimeoutSeconds, 1)
	setIfZero(&p.PeriodSeconds, 10)
	setIfZero(&p.SuccessThreshold, 1)
	setIfZero(&p.FailureThreshold, 3)
	defaultHTTP(p.HTTPGet)
	if p.GRPC != nil {
		setIfNil(&p.GRPC.Service, "")
	}
}

func defaultHook(h *v1.LifecycleHandler) {
	if h != nil {
		defaultHTTP(h.HTTPGet)
	}
}

func defaultHTTP(get *v1.HTTPGetAction) {
	if get != nil {
		setIfZero(&get.Path, "/")
		setIfZero(&get.Scheme, v1.URISchemeHTTP)
	}
}

func defaultFieldRef(ref *v1.ObjectFieldSelector) {
	if ref != nil {
		setIfZero(&ref.APIVersion, "v1")
	}
}

// defaultVolume sets defaults of the API server in unset fields of one volume: hostPath, secret, configMap,
// downwardAPI, projected and image. A volume without a source becomes an emptyDir. Other volume types get no
// defaults.
func defaultVolume(v *v1.VolumeSource) {
	if *v == (v1.VolumeSource{}) {
		v.EmptyDir = &v1.EmptyDirVolumeSource{}
	}
	if v.HostPath != nil {
		setIfNil(&v.HostPath.Type, v1.HostPathUnset)
	}
	if v.Secret != nil {
		setIfNil(&v.Secret.DefaultMode, v1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		setIfNil(&v.ConfigMap.DefaultMode, v1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		setIfNil(&v.DownwardAPI.DefaultMode, v1.DownwardAPIVolumeSourceDefaultMode)
		defaultFiles(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		setIfNil(&v.Projected.DefaultMode, v1.ProjectedVolumeSourceDefaultMode)
		for _, s := range v.Projected.Sources {
			defaultProjection(s)
		}
	}
	if v.Image != nil {
		setIfZero(&v.Image.PullPolicy, defaultPullPolicy(v.Image.Reference))
	}
}

func defaultProjection(p v1.VolumeProjection) {
	if p.ServiceAccountToken != nil {
		setIfNil(&p.ServiceAccountToken.ExpirationSeconds, 60*60)
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
