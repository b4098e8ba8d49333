package objects

import v1 "k8s.io/api/core/v1"

// ref is a reference to a ConfigMap or Secret.
type ref struct {
	secret          bool
	namespace, name string
}

// podReferences returns the ConfigMaps and Secrets that a pod refers to in image pull secrets, volumes, and the
// environment variables of all its containers. The list has no duplicates.
func podReferences(pod *v1.Pod) []ref {
	var refs []ref
	named := map[ref]bool{}
	add := func(secret bool, name string) {
		if r := (ref{secret, pod.Namespace, name}); name != "" && !named[r] {
			refs, named[r] = append(refs, r), true
		}
	}
	for _, s := range pod.Spec.ImagePullSecrets {
		add(true, s.Name)
	}
	for i := range pod.Spec.Volumes {
		addVolumeReferences(&pod.Spec.Volumes[i], add)
	}
	for i := range pod.Spec.InitContainers {
		addEnvReferences(pod.Spec.InitContainers[i].Env, pod.Spec.InitContainers[i].EnvFrom, add)
	}
	for i := range pod.Spec.Containers {
		addEnvReferences(pod.Spec.Containers[i].Env, pod.Spec.Containers[i].EnvFrom, add)
	}
	for i := range pod.Spec.EphemeralContainers {
		addEnvReferences(pod.Spec.EphemeralContainers[i].Env, pod.Spec.EphemeralContainers[i].EnvFrom, add)
	}
	return refs
}

// addVolumeReferences calls add for each ConfigMap and Secret of a volume.
func addVolumeReferences(v *v1.Volume, add func(secret bool, name string)) {
	switch {
	case v.ConfigMap != nil:
		add(false, v.ConfigMap.Name)
	case v.Secret != nil:
		add(true, v.Secret.SecretName)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				add(false, s.ConfigMap.Name)
			}
			if s.Secret != nil {
				add(true, s.Secret.Name)
			}
		}
	}
}

// addEnvReferences calls add for each ConfigMap and Secret that a container's env and envFrom refer to.
func addEnvReferences(env []v1.EnvVar, from []v1.EnvFromSource, add func(secret bool, name string)) {
	for _, e := range from {
		if e.ConfigMapRef != nil {
			add(false, e.ConfigMapRef.Name)
		}
		if e.SecretRef != nil {
			add(true, e.SecretRef.Name)
		}
	}
	for _, e := range env {
		if e.ValueFrom == nil {
			continue
		}
		if e.ValueFrom.ConfigMapKeyRef != nil {
			add(false, e.ValueFrom.ConfigMapKeyRef.Name)
		}
		if e.ValueFrom.SecretKeyRef != nil {
			add(true, e.ValueFrom.SecretKeyRef.Name)
		}
	}
}

// ReferenceNames returns readable names of all API objects that a pod refers to: ConfigMaps, Secrets, the service
// account and claims.
func ReferenceNames(pod *v1.Pod) (names []string) {
	for _, r := range podReferences(pod) {
		kind := "ConfigMap "
		if r.secret {
			kind = "Secret "
		}
		names = append(names, kind+r.name)
	}
	if account := pod.Spec.ServiceAccountName; account != "" {
		names = append(names, "ServiceAccount "+account)
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if c := v.PersistentVolumeClaim; c != nil {
			names = append(names, "PersistentVolumeClaim "+c.ClaimName)
		} else if v.Ephemeral != nil {
			names = append(names, "PersistentVolumeClaim "+pod.Name+"-"+v.Name)
		}
	}
	return names
}
