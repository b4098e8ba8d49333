package apiservertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
)

// leaseNamespace is the namespace of node leases.
const leaseNamespace = v1.NamespaceNodeLease

// newNodeRestrictionError returns a new Forbidden error with the text of the admission plugin NodeRestriction.
func (c *Client) newNodeRestrictionError(resource, name, why string) error {
	return apierrors.NewForbidden(groupResource(resource), name, fmt.Errorf("node %q %s", c.node, why))
}

// newNodeAuthorizerError returns a new Forbidden error with the text of the node authorizer.
func (c *Client) newNodeAuthorizerError(resource, name string) error {
	return apierrors.NewForbidden(groupResource(resource), name,
		fmt.Errorf("User %q cannot get resource %q: no relationship found between node %q and this object", "system:node:"+c.node, resource, c.node))
}

// checkReferencedLocked returns a Forbidden error unless a pod of the node in the same namespace refers to the
// object. Mirror pods do not count.
func (c *Client) checkReferencedLocked(r Request, references func(*v1.Pod) sets.Set[string]) error {
	for k, o := range c.s.mu.objects {
		pod, ok := o.(*v1.Pod)
		if ok && pod.Spec.NodeName == c.node && k.namespace == r.Namespace && !isMirror(pod) && references(pod).Has(r.Name) {
			return nil
		}
	}
	return c.newNodeAuthorizerError(r.Resource, r.Name)
}

func isMirror(pod *v1.Pod) bool {
	_, ok := pod.Annotations[v1.MirrorPodAnnotationKey]
	return ok
}

// configMapNames returns the names of the ConfigMaps that a pod refers to.
func configMapNames(pod *v1.Pod) sets.Set[string] {
	names := sets.New[string]()
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil {
			names.Insert(v.ConfigMap.Name)
		}
		for _, p := range projectedSources(v) {
			if p.ConfigMap != nil {
				names.Insert(p.ConfigMap.Name)
			}
		}
	}
	for _, e := range envReferences(pod) {
		if e.configMap != nil {
			names.Insert(e.configMap.Name)
		}
	}
	return names
}

// secretNames returns the names of the Secrets that a pod refers to.
func secretNames(pod *v1.Pod) sets.Set[string] {
	names := sets.New[string]()
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			names.Insert(v.Secret.SecretName)
		}
		for _, p := range projectedSources(v) {
			if p.Secret != nil {
				names.Insert(p.Secret.Name)
			}
		}
	}
	for _, e := range envReferences(pod) {
		if e.secret != nil {
			names.Insert(e.secret.Name)
		}
	}
	for _, s := range pod.Spec.ImagePullSecrets {
		names.Insert(s.Name)
	}
	return names
}

func projectedSources(v v1.Volume) []v1.VolumeProjection {
	if v.Projected == nil {
		return nil
	}
	return v.Projected.Sources
}

// envReference is a ConfigMap or Secret that environment variables refer to.
type envReference struct{ configMap, secret *v1.LocalObjectReference }

func envReferences(pod *v1.Pod) (out []envReference) {
	each := func(c v1.Container) {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				out = append(out, envReference{configMap: &from.ConfigMapRef.LocalObjectReference})
			}
			if from.SecretRef != nil {
				out = append(out, envReference{secret: &from.SecretRef.LocalObjectReference})
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				out = append(out, envReference{configMap: &e.ValueFrom.ConfigMapKeyRef.LocalObjectReference})
			}
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				out = append(out, envReference{secret: &e.ValueFrom.SecretKeyRef.LocalObjectReference})
			}
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		each(c)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		each(v1.Container(c.EphemeralContainerCommon))
	}
	return out
}

// admitMirrorPodLocked refuses a pod that is not a valid mirror pod of this node.
func (c *Client) admitMirrorPodLocked(pod *v1.Pod) error {
	why := ""
	switch refs := pod.OwnerReferences; {
	case !isMirror(pod):
		why = fmt.Sprintf("can only create mirror pods: there is no annotation %q", v1.MirrorPodAnnotationKey)
	case pod.Spec.NodeName != c.node:
		why = "can only create pods with spec.nodeName set to itself"
	case len(refs) != 1:
		why = "can only create mirror pods with a single owner reference, set to itself"
	case refs[0].APIVersion != "v1" || refs[0].Kind != "Node" || refs[0].Name != c.node:
		why = "can only create pods with an owner reference set to itself"
	case refs[0].Controller == nil || !*refs[0].Controller:
		why = "can only create mirror pods with a controller owner reference set to itself"
	case refs[0].BlockOwnerDeletion != nil && *refs[0].BlockOwnerDeletion:
		why = "must not set blockOwnerDeletion on an owner reference"
	case !c.hasUIDOfNodeLocked(refs[0]):
		if _, err := c.s.storedObjectOrNotFoundLocked(objectKey{"nodes", "", c.node}); err != nil {
			return err
		}
		why = "can only create mirror pods with an owner reference of its UID"
	case pod.Spec.ServiceAccountName != "":
		why = "can not create pods that reference a service account"
	case configMapNames(pod).Len() > 0, secretNames(pod).Len() > 0, hasClaimOrTokenVolume(pod):
		why = "can not create pods that reference config maps, secrets, claims or tokens"
	default:
		return nil
	}
	return c.newNodeRestrictionError("pods", pod.Name, why)
}

// hasClaimOrTokenVolume reports whether a pod has a volume for a PersistentVolumeClaim, an ephemeral volume, or
// a service account token.
func hasClaimOrTokenVolume(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil ||
			slices.ContainsFunc(projectedSources(v), func(p v1.VolumeProjection) bool { return p.ServiceAccountToken != nil })
	})
}

// canNodeSetLabel reports whether a node may set this label on its own Node object. Most labels of
// kubernetes.io and k8s.io are forbidden.
func canNodeSetLabel(name string) bool {
	domain, _, ok := strings.Cut(name, "/")
	if !ok || !isSubdomain(domain, "kubernetes.io") && !isSubdomain(domain, "k8s.io") {
		return true
	}
	return isSubdomain(domain, "kubelet.kubernetes.io") || isSubdomain(domain, "node.kubernetes.io") ||
		slices.Contains([]string{
			v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
			v1.LabelInstanceType, v1.LabelInstanceTypeStable, v1.LabelOSStable, v1.LabelArchStable,
			"beta.kubernetes.io/os", "beta.kubernetes.io/arch",
		}, name)
}

func isSubdomain(domain, root string) bool {
	return domain == root || strings.HasSuffix(domain, "."+root)
}

// admitNodeChange refuses a new or changed node as the plugin NodeRestriction does: another node, forbidden
// labels, and changed taints or owner references. before is empty for a new node.
func (c *Client) admitNodeChange(before, after *v1.Node) error {
	if after.Name != c.node {
		return c.newNodeRestrictionError("nodes", after.Name, "is not allowed to modify another node")
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(sets.KeySet(before.Labels).Union(sets.KeySet(after.Labels)))) {
		old, was := before.Labels[name]
		if value, is := after.Labels[name]; (was != is || old != value) && !canNodeSetLabel(name) {
			labels = append(labels, name)
		}
	}
	switch created := before.Name == ""; {
	case len(labels) > 0:
		return c.newNodeRestrictionError("nodes", after.Name, "is not allowed to modify labels: "+strings.Join(labels, ", "))
	case !created && !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints):
		return c.newNodeRestrictionError("nodes", after.Name, "is not allowed to modify taints")
	case !created && !equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences):
		return c.newNodeRestrictionError("nodes", after.Name, "is not allowed to modify ownerReferences")
	}
	return nil
}
