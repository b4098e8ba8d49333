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

// leaseNamespace has the leases of nodes.
const leaseNamespace = v1.NamespaceNodeLease

// forbidden is a refusal of the plugin NodeRestriction.
func (c *Client) forbidden(resource, name, why string) error {
	return apierrors.NewForbidden(groupResource(resource), name, fmt.Errorf("node %q %s", c.node, why))
}

// unrelated is a refusal of the node authorizer.
func (c *Client) unrelated(resource, name string) error {
	return apierrors.NewForbidden(groupResource(resource), name,
		fmt.Errorf("User %q cannot get resource %q: no relationship found between node %q and this object", "system:node:"+c.node, resource, c.node))
}

// relatedLocked allows what a pod of the node refers to. Mirror pods give no rights.
func (c *Client) relatedLocked(r Request, references func(*v1.Pod) sets.Set[string]) error {
	for k, o := range c.s.mu.objects {
		pod, ok := o.(*v1.Pod)
		if ok && pod.Spec.NodeName == c.node && k.namespace == r.Namespace && !isMirror(pod) && references(pod).Has(r.Name) {
			return nil
		}
	}
	return c.unrelated(r.Resource, r.Name)
}

func isMirror(pod *v1.Pod) bool {
	_, ok := pod.Annotations[v1.MirrorPodAnnotationKey]
	return ok
}

// configMaps are the names that a pod refers to.
func configMaps(pod *v1.Pod) sets.Set[string] {
	names := sets.New[string]()
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil {
			names.Insert(v.ConfigMap.Name)
		}
		for _, p := range projections(v) {
			if p.ConfigMap != nil {
				names.Insert(p.ConfigMap.Name)
			}
		}
	}
	for _, e := range environments(pod) {
		if e.configMap != nil {
			names.Insert(e.configMap.Name)
		}
	}
	return names
}

// secrets are the names that a pod refers to.
func secrets(pod *v1.Pod) sets.Set[string] {
	names := sets.New[string]()
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			names.Insert(v.Secret.SecretName)
		}
		for _, p := range projections(v) {
			if p.Secret != nil {
				names.Insert(p.Secret.Name)
			}
		}
	}
	for _, e := range environments(pod) {
		if e.secret != nil {
			names.Insert(e.secret.Name)
		}
	}
	for _, s := range pod.Spec.ImagePullSecrets {
		names.Insert(s.Name)
	}
	return names
}

func projections(v v1.Volume) []v1.VolumeProjection {
	if v.Projected == nil {
		return nil
	}
	return v.Projected.Sources
}

// reference is an object that variables come from.
type reference struct{ configMap, secret *v1.LocalObjectReference }

func environments(pod *v1.Pod) (out []reference) {
	each := func(c v1.Container) {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				out = append(out, reference{configMap: &from.ConfigMapRef.LocalObjectReference})
			}
			if from.SecretRef != nil {
				out = append(out, reference{secret: &from.SecretRef.LocalObjectReference})
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				out = append(out, reference{configMap: &e.ValueFrom.ConfigMapKeyRef.LocalObjectReference})
			}
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				out = append(out, reference{secret: &e.ValueFrom.SecretKeyRef.LocalObjectReference})
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

// mirrorLocked allows a node to create the mirror pod of a static pod of its own.
func (c *Client) mirrorLocked(pod *v1.Pod) error {
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
	case !c.ownNodeLocked(refs[0]):
		if _, err := c.s.getLocked(key{"nodes", "", c.node}); err != nil {
			return err
		}
		why = "can only create mirror pods with an owner reference of its UID"
	case pod.Spec.ServiceAccountName != "":
		why = "can not create pods that reference a service account"
	case configMaps(pod).Len() > 0, secrets(pod).Len() > 0, bindsObjects(pod):
		why = "can not create pods that reference config maps, secrets, claims or tokens"
	default:
		return nil
	}
	return c.forbidden("pods", pod.Name, why)
}

// bindsObjects reports whether a pod has volumes of claims or tokens.
func bindsObjects(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil ||
			slices.ContainsFunc(projections(v), func(p v1.VolumeProjection) bool { return p.ServiceAccountToken != nil })
	})
}

// mayLabel reports whether a node may set this label on its own object.
func mayLabel(name string) bool {
	domain, _, ok := strings.Cut(name, "/")
	if !ok || !beneath(domain, "kubernetes.io") && !beneath(domain, "k8s.io") {
		return true
	}
	return beneath(domain, "kubelet.kubernetes.io") || beneath(domain, "node.kubernetes.io") ||
		slices.Contains([]string{
			v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
			v1.LabelInstanceType, v1.LabelInstanceTypeStable, v1.LabelOSStable, v1.LabelArchStable,
			"beta.kubernetes.io/os", "beta.kubernetes.io/arch",
		}, name)
}

func beneath(domain, root string) bool { return domain == root || strings.HasSuffix(domain, "."+root) }

// admitNode is what the plugin NodeRestriction says to a new or changed node; before is
// empty for a new one.
func (c *Client) admitNode(before, after *v1.Node) error {
	if after.Name != c.node {
		return c.forbidden("nodes", after.Name, "is not allowed to modify another node")
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(sets.KeySet(before.Labels).Union(sets.KeySet(after.Labels)))) {
		old, was := before.Labels[name]
		if value, is := after.Labels[name]; (was != is || old != value) && !mayLabel(name) {
			labels = append(labels, name)
		}
	}
	switch created := before.Name == ""; {
	case len(labels) > 0:
		return c.forbidden("nodes", after.Name, "is not allowed to modify labels: "+strings.Join(labels, ", "))
	case !created && !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints):
		return c.forbidden("nodes", after.Name, "is not allowed to modify taints")
	case !created && !equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences):
		return c.forbidden("nodes", after.Name, "is not allowed to modify ownerReferences")
	}
	return nil
}
