package validation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Available says which objects of an API server a node can get without one. The zero
// value is none.
type Available struct {
	// ConfigMaps: references to ConfigMaps are allowed.
	ConfigMaps bool
	// Secrets: references to Secrets are allowed, but those of volume drivers, which
	// only an API server resolves.
	Secrets bool
}

// References returns an error for every object of an API server that a pod refers to
// and that is not available. A static pod runs where there may be no API server, so
// such a reference could never be resolved; the kubelet rejects it for the same reason.
// Ephemeral containers are errors too: they are added to running pods only.
//
// The pod is not changed. References may be called from anywhere, with or without
// [Default] and [Validate] before it. At most 1,000 errors are returned.
func References(pod *v1.Pod, have Available) field.ErrorList {
	if pod == nil {
		return nil
	}
	f := &refs{have: have}
	at, spec := field.NewPath("spec"), &pod.Spec
	f.object(spec.ServiceAccountName != "", at.Child("serviceAccountName"), "a service account")
	f.object(spec.DeprecatedServiceAccount != "", at.Child("serviceAccount"), "a service account")
	f.object(len(spec.ImagePullSecrets) > 0 && !have.Secrets, at.Child("imagePullSecrets"), "secrets")
	f.object(len(spec.ResourceClaims) > 0, at.Child("resourceClaims"), "resource claims")
	for i := range spec.InitContainers {
		f.container(&spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		f.container(&spec.Containers[i], at.Child("containers").Index(i))
	}
	if len(spec.EphemeralContainers) > 0 {
		f.forbidden(at.Child("ephemeralContainers"), "expected none, since they are added to running pods only")
	}
	for i := range spec.Volumes {
		f.volume(&spec.Volumes[i].VolumeSource, at.Child("volumes").Index(i))
	}
	return f.errs
}

// refs gathers references.
type refs struct {
	findings
	have Available
}

// configMap adds an error if there is a reference to a config map, and none can be had.
func (f *refs) configMap(refers bool, at *field.Path) {
	f.object(refers && !f.have.ConfigMaps, at, "a config map")
}

// secret adds an error if there is a reference to a secret, and none can be had.
func (f *refs) secret(refers bool, at *field.Path) {
	f.object(refers && !f.have.Secrets, at, "a secret")
}

// object adds an error if there is a reference.
func (f *refs) object(refers bool, at *field.Path, what string) {
	if refers {
		f.whole(field.ErrorTypeForbidden, at, "refers to %s: expected none, since a static pod has no objects of an API server", what)
	}
}

func (f *refs) container(c *v1.Container, at *field.Path) {
	for i, from := range c.EnvFrom {
		at := at.Child("envFrom").Index(i)
		f.configMap(from.ConfigMapRef != nil, at.Child("configMapRef"))
		f.secret(from.SecretRef != nil, at.Child("secretRef"))
	}
	for i, e := range c.Env {
		if from := e.ValueFrom; from != nil {
			at := at.Child("env").Index(i).Child("valueFrom")
			f.configMap(from.ConfigMapKeyRef != nil, at.Child("configMapKeyRef"))
			f.secret(from.SecretKeyRef != nil, at.Child("secretKeyRef"))
		}
	}
	f.object(len(c.Resources.Claims) > 0, at.Child("resources", "claims"), "resource claims")
}

func (f *refs) volume(v *v1.VolumeSource, at *field.Path) {
	f.secret(v.Secret != nil, at.Child("secret"))
	f.configMap(v.ConfigMap != nil, at.Child("configMap"))
	f.object(v.PersistentVolumeClaim != nil, at.Child("persistentVolumeClaim"), "a volume claim")
	f.object(v.Ephemeral != nil, at.Child("ephemeral"), "a volume claim")
	f.drivers(v, at)
	if v.Projected == nil {
		return
	}
	for i, s := range v.Projected.Sources {
		at := at.Child("projected", "sources").Index(i)
		f.secret(s.Secret != nil, at.Child("secret"))
		f.configMap(s.ConfigMap != nil, at.Child("configMap"))
		f.object(s.ServiceAccountToken != nil, at.Child("serviceAccountToken"), "a service account")
		f.object(s.ClusterTrustBundle != nil, at.Child("clusterTrustBundle"), "a trust bundle")
		f.object(s.PodCertificate != nil, at.Child("podCertificate"), "a certificate request")
	}
}

// drivers looks at the secrets that drivers of volumes log in with.
func (f *refs) drivers(v *v1.VolumeSource, at *field.Path) {
	f.object(v.CSI != nil && v.CSI.NodePublishSecretRef != nil, at.Child("csi", "nodePublishSecretRef"), "a secret")
	f.object(v.FlexVolume != nil && v.FlexVolume.SecretRef != nil, at.Child("flexVolume", "secretRef"), "a secret")
	f.object(v.ISCSI != nil && v.ISCSI.SecretRef != nil, at.Child("iscsi", "secretRef"), "a secret")
	f.object(v.RBD != nil && v.RBD.SecretRef != nil, at.Child("rbd", "secretRef"), "a secret")
	f.object(v.CephFS != nil && v.CephFS.SecretRef != nil, at.Child("cephfs", "secretRef"), "a secret")
	f.object(v.Cinder != nil && v.Cinder.SecretRef != nil, at.Child("cinder", "secretRef"), "a secret")
	f.object(v.ScaleIO != nil && v.ScaleIO.SecretRef != nil, at.Child("scaleIO", "secretRef"), "a secret")
	f.object(v.StorageOS != nil && v.StorageOS.SecretRef != nil, at.Child("storageos", "secretRef"), "a secret")
	f.object(v.AzureFile != nil && v.AzureFile.SecretName != "", at.Child("azureFile", "secretName"), "a secret")
	f.object(v.Glusterfs != nil && v.Glusterfs.EndpointsName != "", at.Child("glusterfs", "endpoints"), "endpoints")
}
