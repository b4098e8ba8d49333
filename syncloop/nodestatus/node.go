package nodestatus

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelsAnnotation has the names of the labels that the node has set, so that it can remove the labels that it
// no longer sets.
const LabelsAnnotation = "podkeel.dev/labels"

// Spec has the fields of a Node object that the node registers.
type Spec struct {
	// Name is the node's name.
	Name string
	// OS and Arch are the operating system and the architecture of the machine, as GOOS and GOARCH.
	OS, Arch string
	// Labels are added to the labels of every node and win over them.
	Labels map[string]string
	// Taints are the taints of a new node. The taints of an existing node do not change.
	Taints []v1.Taint
	// ProviderID is the node's ID at its cloud; empty: none.
	ProviderID string
}

// Labels returns the labels of a node: the labels that a kubelet sets, with the beta labels that older
// manifests select, and Spec.Labels.
func Labels(spec Spec) map[string]string {
	labels := map[string]string{
		v1.LabelHostname: spec.Name, v1.LabelOSStable: spec.OS, v1.LabelArchStable: spec.Arch,
		"beta.kubernetes.io/os": spec.OS, "beta.kubernetes.io/arch": spec.Arch,
	}
	maps.Copy(labels, spec.Labels)
	return labels
}

// Node returns the object of a node for its registration.
func Node(spec Spec, status v1.NodeStatus) *v1.Node {
	labels := Labels(spec)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Labels: labels, Annotations: map[string]string{
			LabelsAnnotation: strings.Join(slices.Sorted(maps.Keys(labels)), ","),
		}},
		Spec:   v1.NodeSpec{Taints: slices.Clone(spec.Taints), ProviderID: spec.ProviderID},
		Status: status,
	}
}

// Reconcile returns the strategic merge patch that sets the labels of an existing node to the labels of want.
// It removes labels that the node has set before and no longer sets. It changes nothing else. It returns nil
// if nothing differs.
func Reconcile(existing, want *v1.Node) ([]byte, error) {
	labels := map[string]any{}
	for key, value := range want.Labels {
		if had, ok := existing.Labels[key]; !ok || had != value {
			labels[key] = value
		}
	}
	for key := range strings.SplitSeq(existing.Annotations[LabelsAnnotation], ",") {
		_, wanted := want.Labels[key]
		if _, there := existing.Labels[key]; there && !wanted {
			labels[key] = nil
		}
	}
	ours := want.Annotations[LabelsAnnotation]
	if len(labels) == 0 && existing.Annotations[LabelsAnnotation] == ours {
		return nil, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": labels, "annotations": map[string]any{LabelsAnnotation: ours},
	}})
	if err != nil {
		return nil, fmt.Errorf("nodestatus: %w", err)
	}
	return patch, nil
}

// The times of a lease.
const (
	// LeaseDuration is how long a lease is valid.
	LeaseDuration = 40 * time.Second
	// LeasePeriod is the time between two renewals.
	LeasePeriod = 10 * time.Second
)

// Lease returns the renewed lease of a node. previous is the lease at the server; nil if there is none. The
// node becomes the owner of the lease.
func Lease(previous *coordinationv1.Lease, node *v1.Node, now time.Time) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	if previous != nil {
		lease = previous.DeepCopy()
		if before := lease.Spec.RenewTime; before != nil && !now.After(before.Time) {
			now = before.Add(time.Microsecond)
		}
	}
	seconds := int32(LeaseDuration / time.Second)
	lease.Name, lease.Namespace = node.Name, v1.NamespaceNodeLease
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &node.Name, &seconds
	lease.Spec.RenewTime = &metav1.MicroTime{Time: now}
	return lease
}
