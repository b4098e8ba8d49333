package validation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Available says which API objects a node can get without an API server. The zero value is none.
type Available struct {
	// ConfigMaps: references to ConfigMaps are allowed.
	ConfigMaps bool
	// Secrets: references to Secrets are allowed, except by volume drivers: only an API server
	// resolves those.
	Secrets bool
}

// References returns an error for every reference of a pod to an API object that is not available.
// A static pod may run without an API server, so such a reference could never be resolved. The
// kubelet rejects it too. Ephemeral containers are errors, because only an API server adds them to
// running pods.
//
// References does not change the pod. It may be called before or after [Default] and [Validate]. It
// returns at most 1,000 errors.
func References(pod *v1.Pod, available Available) field.ErrorList {
	if pod == nil {
		return nil
	}
	f := &referenceFindings{available: available}
	at, spec := field.NewPath("spec"), &pod.Spec
	f.forbidReference(spec.ServiceAccountName != "", at.Child("serviceAccountName"), "a service account")
	f.forbidReference(spec.DeprecatedServiceAccount != "", at.Child("serviceAccount"), "a service account")
	f.forbidReference(len(spec.ImagePullSecrets) > 0 && !available.Secrets, at.Child("imagePullSecrets"), "secrets")
	f.forbidReference(len(spec.ResourceClaims) > 0, at.Child("resourceClaims"), "resource claims")
	for i := range spec.InitContainers {
		f.checkContainerReferences(&spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		f.checkContainerReferences(&spec.Containers[i], at.Child("containers").Index(i))
	}
	if len(spec.EphemeralContainers) > 0 {
		f.addForbidden(at.Child("ephemeralContainers"), "expected none, since they are added to running pods only")
	}
	for i := range spec.Volumes {
		f.checkVolumeReferences(&spec.Volumes[i].VolumeSource, at.Child("volumes").Index(i))
	}
	return f.errs
}

// referenceFindings collects the errors of References.
type referenceFindings struct {
	findings
	available Available
}

// checkConfigMap adds an error if isReference is true and the pod may not use config maps.
func (f *referenceFindings) checkConfigMap(isReference bool, at *field.Path) {
	f.forbidReference(isReference && !f.available.ConfigMaps, at, "a config map")
}

// checkMayUseSecret adds an error if isReference is true and the pod may not use secrets.
func (f *referenceFindings) checkMayUseSecret(isReference bool, at *field.Path) {
	f.forbidReference(isReference && !f.available.Secrets, at, "a secret")
}

// forbidReference adds an error if isReference is true. what names the object in the error.
func (f *referenceFindings) forbidReference(isReference bool, at *field.Path, what string) {
	if isReference {
		f.addWithoutValue(field.ErrorTypeForbidden, at, "refers to %s: expected none, since a static pod has no objects of an API server", what)
	}
}

func (f *referenceFindings) checkContainerReferences(c *v1.Container, at *field.Path) {
	for i, from := range c.EnvFrom {
		at := at.Child("envFrom").Index(i)
		f.checkConfigMap(from.ConfigMapRef != nil, at.Child("configMapRef"))
		f.checkMayUseSecret(from.SecretRef != nil, at.Child("secretRef"))
	}
	for i, e := range c.Env {
		if from := e.ValueFrom; from != nil {
			at := at.Child("env").Index(i).Child("valueFrom")
			f.checkConfigMap(from.ConfigMapKeyRef != nil, at.Child("configMapKeyRef"))
			f.checkMayUseSecret(from.SecretKeyRef != nil, at.Child("secretKeyRef"))
		}
	}
	f.forbidReference(len(c.Resources.Claims) > 0, at.Child("resources", "claims"), "resource claims")
}

func (f *referenceFindings) checkVolumeReferences(v *v1.VolumeSource, at *field.Path) {
	f.checkMayUseSecret(v.Secret != nil, at.Child("secret"))
	f.checkConfigMap(v.ConfigMap != nil, at.Child("configMap"))
	f.forbidReference(v.PersistentVolumeClaim != nil, at.Child("persistentVolumeClaim"), "a volume claim")
	f.forbidReference(v.Ephemeral != nil, at.Child("ephemeral"), "a volume claim")
	f.checkDriverReferences(v, at)
	if v.Projected == nil {
		return
	}
	for i, s := range v.Projected.Sources {
		at := at.Child("projected", "sources").Index(i)
		f.checkMayUseSecret(s.Secret != nil, at.Child("secret"))
		f.checkConfigMap(s.ConfigMap != nil, at.Child("configMap"))
		f.forbidReference(s.ServiceAccountToken != nil, at.Child("serviceAccountToken"), "a service account")
		f.forbidReference(s.ClusterTrustBundle != nil, at.Child("clusterTrustBundle"), "a trust bundle")
		f.forbidReference(s.PodCertificate != nil, at.Child("podCertificate"), "a certificate request")
	}
}

// checkDriverReferences adds an error for each secret that a volume driver needs, and for the endpoints of
// GlusterFS. It adds these errors even if the pod may use secrets.
func (f *referenceFindings) checkDriverReferences(v *v1.VolumeSource, at *field.Path) {
	f.forbidReference(v.CSI != nil && v.CSI.NodePublishSecretRef != nil, at.Child("csi", "nodePublishSecretRef"), "a secret")
	f.forbidReference(v.FlexVolume != nil && v.FlexVolume.SecretRef != nil, at.Child("flexVolume", "secretRef"), "a secret")
	f.forbidReference(v.ISCSI != nil && v.ISCSI.SecretRef != nil, at.Child("iscsi", "secretRef"), "a secret")
	f.forbidReference(v.RBD != nil && v.RBD.SecretRef != nil, at.Child("rbd", "secretRef"), "a secret")
	f.forbidReference(v.CephFS != nil && v.CephFS.SecretRef != nil, at.Child("cephfs", "secretRef"), "a secret")
	f.forbidReference(v.Cinder != nil && v.Cinder.SecretRef != nil, at.Child("cinder", "secretRef"), "a secret")
	f.forbidReference(v.ScaleIO != nil && v.ScaleIO.SecretRef != nil, at.Child("scaleIO", "secretRef"), "a secret")
	f.forbidReference(v.StorageOS != nil && v.StorageOS.SecretRef != nil, at.Child("storageos", "secretRef"), "a secret")
	f.forbidReference(v.AzureFile != nil && v.AzureFile.SecretName != "", at.Child("azureFile", "secretName"), "a secret")
	f.forbidReference(v.Glusterfs != nil && v.Glusterfs.EndpointsName != "", at.Child("glusterfs", "endpoints"), "endpoints")
}
