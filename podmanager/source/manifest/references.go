package manifest

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/document"
)

// references finds what a pod wants from an API server (CF-13). A static pod
// runs where none may be, so nobody could answer. With objects there is somebody
// who has config maps and secrets.
func references(pod *v1.Pod, objects bool) findings {
	f := &refs{local: objects}
	at, spec := (*document.Path)(nil).Field("spec"), &pod.Spec
	f.object(spec.ServiceAccountName != "", at.Field("serviceAccountName"), "a service account")
	f.object(spec.DeprecatedServiceAccount != "", at.Field("serviceAccount"), "a service account")
	f.localObject(len(spec.ImagePullSecrets) > 0, at.Field("imagePullSecrets"), "secrets")
	f.object(len(spec.ResourceClaims) > 0, at.Field("resourceClaims"), "resource claims")
	f.object(spec.RuntimeClassName != nil && *spec.RuntimeClassName != "", at.Field("runtimeClassName"), "a runtime class")
	for i := range spec.InitContainers {
		f.container(&spec.InitContainers[i], at.Field("initContainers").At(i))
	}
	for i := range spec.Containers {
		f.container(&spec.Containers[i], at.Field("containers").At(i))
	}
	if len(spec.EphemeralContainers) > 0 {
		f.add(at.Field("ephemeralContainers"), "set: expected none, since they are added to running pods only")
	}
	for i := range spec.Volumes {
		f.volume(&spec.Volumes[i].VolumeSource, at.Field("volumes").At(i))
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
func (f *refs) localObject(refers bool, at *document.Path, what string) {
	f.object(refers && !f.local, at, what)
}

// object adds a finding if there is a reference.
func (f *refs) object(refers bool, at *document.Path, what string) {
	if refers {
		f.add(at, "refers to %s: expected none, since a static pod has no objects of an API server", what)
	}
}

func (f *refs) container(c *v1.Container, at *document.Path) {
	for i, from := range c.EnvFrom {
		at := at.Field("envFrom").At(i)
		f.localObject(from.ConfigMapRef != nil, at.Field("configMapRef"), "a config map")
		f.localObject(from.SecretRef != nil, at.Field("secretRef"), "a secret")
	}
	for i, e := range c.Env {
		if from := e.ValueFrom; from != nil {
			at := at.Field("env").At(i).Field("valueFrom")
			f.localObject(from.ConfigMapKeyRef != nil, at.Field("configMapKeyRef"), "a config map")
			f.localObject(from.SecretKeyRef != nil, at.Field("secretKeyRef"), "a secret")
		}
	}
	f.object(len(c.Resources.Claims) > 0, at.Fields("resources", "claims"), "resource claims")
}

func (f *refs) volume(v *v1.VolumeSource, at *document.Path) {
	f.localObject(v.Secret != nil, at.Field("secret"), "a secret")
	f.localObject(v.ConfigMap != nil, at.Field("configMap"), "a config map")
	f.object(v.PersistentVolumeClaim != nil, at.Field("persistentVolumeClaim"), "a volume claim")
	f.object(v.Ephemeral != nil, at.Field("ephemeral"), "a volume claim")
	f.drivers(v, at)
	if v.Projected == nil {
		return
	}
	for i, s := range v.Projected.Sources {
		at := at.Fields("projected", "sources").At(i)
		f.localObject(s.Secret != nil, at.Field("secret"), "a secret")
		f.localObject(s.ConfigMap != nil, at.Field("configMap"), "a config map")
		f.object(s.ServiceAccountToken != nil, at.Field("serviceAccountToken"), "a service account")
		f.object(s.ClusterTrustBundle != nil, at.Field("clusterTrustBundle"), "a trust bundle")
		f.object(s.PodCertificate != nil, at.Field("podCertificate"), "a certificate request")
	}
}

// drivers looks at the secrets that drivers of volumes log in with.
func (f *refs) drivers(v *v1.VolumeSource, at *document.Path) {
	f.object(v.CSI != nil && v.CSI.NodePublishSecretRef != nil, at.Fields("csi", "nodePublishSecretRef"), "a secret")
	f.object(v.FlexVolume != nil && v.FlexVolume.SecretRef != nil, at.Fields("flexVolume", "secretRef"), "a secret")
	f.object(v.ISCSI != nil && v.ISCSI.SecretRef != nil, at.Fields("iscsi", "secretRef"), "a secret")
	f.object(v.RBD != nil && v.RBD.SecretRef != nil, at.Fields("rbd", "secretRef"), "a secret")
	f.object(v.CephFS != nil && v.CephFS.SecretRef != nil, at.Fields("cephfs", "secretRef"), "a secret")
	f.object(v.Cinder != nil && v.Cinder.SecretRef != nil, at.Fields("cinder", "secretRef"), "a secret")
	f.object(v.ScaleIO != nil && v.ScaleIO.SecretRef != nil, at.Fields("scaleIO", "secretRef"), "a secret")
	f.object(v.StorageOS != nil && v.StorageOS.SecretRef != nil, at.Fields("storageos", "secretRef"), "a secret")
	f.object(v.AzureFile != nil && v.AzureFile.SecretName != "", at.Fields("azureFile", "secretName"), "a secret")
	f.object(v.Glusterfs != nil && v.Glusterfs.EndpointsName != "", at.Fields("glusterfs", "endpoints"), "endpoints")
}
