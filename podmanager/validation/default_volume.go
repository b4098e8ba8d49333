package validation

import v1 "k8s.io/api/core/v1"

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
