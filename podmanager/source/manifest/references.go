package manifest

import v1 "k8s.io/api/core/v1"

// references finds what a pod wants from an API server (CF-13). A static pod
// runs where none may be, so nobody could answer. With objects there is somebody
// who has config maps and secrets.
func references(pod *v1.Pod, objects bool) findings {
	f := &refs{local: objects}
	at, spec := (*fieldPath)(nil).field("spec"), &pod.Spec
	f.object(spec.ServiceAccountName != "", at.field("serviceAccountName"), "a service account")
	f.object(spec.DeprecatedServiceAccount != "", at.field("serviceAccount"), "a service account")
	f.localObject(len(spec.ImagePullSecrets) > 0, at.field("imagePullSecrets"), "secrets")
	f.object(len(spec.ResourceClaims) > 0, at.field("resourceClaims"), "resource claims")
	f.object(spec.RuntimeClassName != nil && *spec.RuntimeClassName != "", at.field("runtimeClassName"), "a runtime class")
	for i := range spec.InitContainers {
		f.container(&spec.InitContainers[i], at.field("initContainers").at(i))
	}
	for i := range spec.Containers {
		f.container(&spec.Containers[i], at.field("containers").at(i))
	}
	if len(spec.EphemeralContainers) > 0 {
		f.add(at.field("ephemeralContainers"), "set: expected none, since they are added to running pods only")
	}
	for i := range spec.Volumes {
		f.volume(&spec.Volumes[i].VolumeSource, at.field("volumes").at(i))
	}
	return f.findings
}

// refs gathers references.
type refs struct {
	findings
	local bool // config maps and secrets can be had
}

// localObject adds a finding if there is a reference to a config map or a secret
// and nobody has those.
func (f *refs) localObject(refers bool, at *fieldPath, what string) {
	f.object(refers && !f.local, at, what)
}

// object adds a finding if there is a reference.
func (f *refs) object(refers bool, at *fieldPath, what string) {
	if refers {
		f.add(at, "refers to %s: expected none, since a static pod has no objects of an API server", what)
	}
}

func (f *refs) container(c *v1.Container, at *fieldPath) {
	for i, from := range c.EnvFrom {
		at := at.field("envFrom").at(i)
		f.localObject(from.ConfigMapRef != nil, at.field("configMapRef"), "a config map")
		f.localObject(from.SecretRef != nil, at.field("secretRef"), "a secret")
	}
	for i, e := range c.Env {
		if from := e.ValueFrom; from != nil {
			at := at.field("env").at(i).field("valueFrom")
			f.localObject(from.ConfigMapKeyRef != nil, at.field("configMapKeyRef"), "a config map")
			f.localObject(from.SecretKeyRef != nil, at.field("secretKeyRef"), "a secret")
		}
	}
	f.object(len(c.Resources.Claims) > 0, at.fields("resources", "claims"), "resource claims")
}

func (f *refs) volume(v *v1.VolumeSource, at *fieldPath) {
	f.localObject(v.Secret != nil, at.field("secret"), "a secret")
	f.localObject(v.ConfigMap != nil, at.field("configMap"), "a config map")
	f.object(v.PersistentVolumeClaim != nil, at.field("persistentVolumeClaim"), "a volume claim")
	f.object(v.Ephemeral != nil, at.field("ephemeral"), "a volume claim")
	f.drivers(v, at)
	if v.Projected == nil {
		return
	}
	for i, s := range v.Projected.Sources {
		at := at.fields("projected", "sources").at(i)
		f.localObject(s.Secret != nil, at.field("secret"), "a secret")
		f.localObject(s.ConfigMap != nil, at.field("configMap"), "a config map")
		f.object(s.ServiceAccountToken != nil, at.field("serviceAccountToken"), "a service account")
		f.object(s.ClusterTrustBundle != nil, at.field("clusterTrustBundle"), "a trust bundle")
		f.object(s.PodCertificate != nil, at.field("podCertificate"), "a certificate request")
	}
}

// drivers looks at the secrets that drivers of volumes log in with.
func (f *refs) drivers(v *v1.VolumeSource, at *fieldPath) {
	f.object(v.CSI != nil && v.CSI.NodePublishSecretRef != nil, at.fields("csi", "nodePublishSecretRef"), "a secret")
	f.object(v.FlexVolume != nil && v.FlexVolume.SecretRef != nil, at.fields("flexVolume", "secretRef"), "a secret")
	f.object(v.ISCSI != nil && v.ISCSI.SecretRef != nil, at.fields("iscsi", "secretRef"), "a secret")
	f.object(v.RBD != nil && v.RBD.SecretRef != nil, at.fields("rbd", "secretRef"), "a secret")
	f.object(v.CephFS != nil && v.CephFS.SecretRef != nil, at.fields("cephfs", "secretRef"), "a secret")
	f.object(v.Cinder != nil && v.Cinder.SecretRef != nil, at.fields("cinder", "secretRef"), "a secret")
	f.object(v.ScaleIO != nil && v.ScaleIO.SecretRef != nil, at.fields("scaleIO", "secretRef"), "a secret")
	f.object(v.StorageOS != nil && v.StorageOS.SecretRef != nil, at.fields("storageos", "secretRef"), "a secret")
	f.object(v.AzureFile != nil && v.AzureFile.SecretName != "", at.fields("azureFile", "secretName"), "a secret")
	f.object(v.Glusterfs != nil && v.Glusterfs.EndpointsName != "", at.fields("glusterfs", "endpoints"), "endpoints")
}
