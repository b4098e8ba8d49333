package objects

import v1 "k8s.io/api/core/v1"

// ref names an object.
type ref struct {
	secret          bool
	namespace, name string
}

// references are the objects that a pod names, each once, in order.
func references(pod *v1.Pod) []ref {
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
		ofVolume(&pod.Spec.Volumes[i], add)
	}
	for i := range pod.Spec.InitContainers {
		ofEnv(pod.Spec.InitContainers[i].Env, pod.Spec.InitContainers[i].EnvFrom, add)
	}
	for i := range pod.Spec.Containers {
		ofEnv(pod.Spec.Containers[i].Env, pod.Spec.Containers[i].EnvFrom, add)
	}
	for i := range pod.Spec.EphemeralContainers {
		ofEnv(pod.Spec.EphemeralContainers[i].Env, pod.Spec.EphemeralContainers[i].EnvFrom, add)
	}
	return refs
}

func ofVolume(v *v1.Volume, add func(secret bool, name string)) {
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

func ofEnv(env []v1.EnvVar, from []v1.EnvFromSource, add func(secret bool, name string)) {
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

// ReferenceNames are the objects of the API server that a pod refers to, for people: ConfigMaps and
// Secrets, the service account, and claims.
func ReferenceNames(pod *v1.Pod) (names []string) {
	for _, r := range references(pod) {
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
