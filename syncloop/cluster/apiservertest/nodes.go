package apiservertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nodes implements apiserver.Nodes.
type nodes struct{ c *Client }

// hasUIDOfNodeLocked reports whether an owner reference has the UID of this node's Node object.
func (c *Client) hasUIDOfNodeLocked(ref metav1.OwnerReference) bool {
	node, err := c.s.storedObjectOrNotFoundLocked(objectKey{"nodes", "", c.node})
	return err == nil && node.GetUID() == ref.UID
}

// requireThisNode returns a Forbidden error if name is another node.
func (c *Client) requireThisNode(name string) error {
	if name == c.node {
		return nil
	}
	return apierrors.NewForbidden(groupResource("nodes"), name, errors.New("node \""+c.node+"\" cannot read or change another node"))
}

func (n nodes) Get(ctx context.Context, name string) (*v1.Node, error) {
	return doRequest(ctx, n.c, Request{Verb: "get", Resource: "nodes", Name: name}, func() (*v1.Node, error) {
		if err := n.c.requireThisNode(name); err != nil {
			return nil, err
		}
		o, err := n.c.s.storedObjectOrNotFoundLocked(objectKey{"nodes", "", name})
		if err != nil {
			return nil, err
		}
		return o.(*v1.Node).DeepCopy(), nil
	})
}

func (n nodes) Create(ctx context.Context, node *v1.Node) (*v1.Node, error) {
	node = node.DeepCopy()
	return doRequest(ctx, n.c, Request{Verb: "create", Resource: "nodes", Name: node.Name}, func() (*v1.Node, error) {
		if err := n.c.admitNodeChange(&v1.Node{}, node); err != nil {
			return nil, err
		}
		addNotReadyTaint(node)
		return storeCreated(n.c.s, node)
	})
}

// setAllocatableIfEmpty sets the allocatable resources of a node to its capacity if they are empty.
func setAllocatableIfEmpty(node *v1.Node) {
	if len(node.Status.Allocatable) == 0 {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
}

// addNotReadyTaint adds the taint not-ready:NoSchedule, which every new node gets, unless the node has it.
func addNotReadyTaint(node *v1.Node) {
	taint := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
}

func (n nodes) Patch(ctx context.Context, name string, patch []byte) (*v1.Node, error) {
	return n.patchNode(ctx, "nodes", name, patch, func(before, after *v1.Node) { after.Status = before.Status })
}

func (n nodes) PatchStatus(ctx context.Context, name string, patch []byte) (*v1.Node, error) {
	return n.patchNode(ctx, "nodes/status", name, patch, func(before, after *v1.Node) { after.Spec = before.Spec })
}

// patchNode applies a patch to a Node object, admits and validates the result as an API server does, and stores
// it. restoreFields first resets the fields that a request for this resource must not change.
func (n nodes) patchNode(ctx context.Context, resource, name string, patch []byte, restoreFields func(before, after *v1.Node)) (*v1.Node, error) {
	r := Request{Verb: "patch", Resource: resource, Name: name, Keys: patchFieldPaths(patch), Body: patch}
	return doRequest(ctx, n.c, r, func() (*v1.Node, error) {
		o, err := n.c.s.storedObjectOrNotFoundLocked(objectKey{"nodes", "", name})
		if err != nil {
			return nil, err
		}
		before := o.(*v1.Node)
		after, err := applyPatch(before, patch)
		if err != nil {
			return nil, err
		}
		restoreFields(before, after)
		if err := n.c.admitNodeChange(before, after); err != nil {
			return nil, err
		}
		if err := setPodCIDRsAndValidateUpdate(before, after); err != nil {
			return nil, err
		}
		return storeUpdatedOrRemove(n.c.s, before, after)
	})
}

// setPodCIDRsAndValidateUpdate sets podCIDRs from podCIDR if they are empty. It then returns an error if an
// update changes pod CIDRs or a provider ID that were set before.
func setPodCIDRsAndValidateUpdate(before, after *v1.Node) error {
	if after.Spec.PodCIDR != "" && len(after.Spec.PodCIDRs) == 0 {
		after.Spec.PodCIDRs = []string{after.Spec.PodCIDR}
	}
	var faults field.ErrorList
	if len(before.Spec.PodCIDRs) > 0 && (!slices.Equal(before.Spec.PodCIDRs, after.Spec.PodCIDRs) || before.Spec.PodCIDR != after.Spec.PodCIDR) {
		faults = append(faults, field.Forbidden(field.NewPath("spec", "podCIDRs"), `node updates may not change podCIDR except from "" to valid`))
	}
	if was := before.Spec.ProviderID; was != "" && was != after.Spec.ProviderID {
		faults = append(faults, field.Forbidden(field.NewPath("spec", "providerID"), `node updates may not change providerID except from "" to valid`))
	}
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, before.Name, faults)
}

// storeUpdatedOrRemove stores an updated object and returns a copy, or removes the object if its deletion is complete.
// A node without allocatable resources gets its capacity as allocatable.
func storeUpdatedOrRemove[T Object](s *Server, before, after T) (T, error) {
	if node, ok := any(after).(*v1.Node); ok {
		setAllocatableIfEmpty(node)
	}
	out, err := s.updateOrRemoveLocked(before, after)
	if err != nil {
		var none T
		return none, err
	}
	return out.DeepCopyObject().(T), nil
}

// leases implements apiserver.Leases.
type leases struct{ c *Client }

// requireLeaseOfThisNode returns a Forbidden error if name is the lease of another node.
func (l leases) requireLeaseOfThisNode(name string) error {
	if name == l.c.node {
		return nil
	}
	return apierrors.NewForbidden(groupResource("leases"), name, errors.New("can only access node lease with the same name as the requesting node"))
}

func (l leases) Get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return doRequest(ctx, l.c, Request{Verb: "get", Resource: "leases", Namespace: leaseNamespace, Name: name}, func() (*coordinationv1.Lease, error) {
		if err := l.requireLeaseOfThisNode(name); err != nil {
			return nil, err
		}
		o, err := l.c.s.storedObjectOrNotFoundLocked(objectKey{"leases", leaseNamespace, name})
		if err != nil {
			return nil, err
		}
		return o.(*coordinationv1.Lease).DeepCopy(), nil
	})
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	lease = lease.DeepCopy()
	lease.Namespace = leaseNamespace
	return doRequest(ctx, l.c, Request{Verb: "create", Resource: "leases", Namespace: leaseNamespace, Name: lease.Name}, func() (*coordinationv1.Lease, error) {
		if err := l.requireLeaseOfThisNode(lease.Name); err != nil {
			return nil, err
		}
		return storeCreated(l.c.s, lease)
	})
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	lease = lease.DeepCopy()
	lease.Namespace = leaseNamespace
	return doRequest(ctx, l.c, Request{Verb: "update", Resource: "leases", Namespace: leaseNamespace, Name: lease.Name}, func() (*coordinationv1.Lease, error) {
		if err := l.requireLeaseOfThisNode(lease.Name); err != nil {
			return nil, err
		}
		o, err := l.c.s.storedObjectOrNotFoundLocked(keyOfObject(lease))
		switch {
		case err != nil && lease.UID != "":
			return nil, apierrors.NewConflict(groupResource("leases"), lease.Name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: ", lease.UID))
		case err != nil: // An update creates what does not exist.
			lease.ResourceVersion = ""
			return storeCreated(l.c.s, lease)
		case lease.ResourceVersion == "" && (lease.UID == "" || lease.UID == o.GetUID()):
			return nil, apierrors.NewInvalid(schema.GroupKind{Group: coordinationv1.GroupName, Kind: "Lease"}, lease.Name,
				field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update")})
		}
		return storeUpdatedOrRemove(l.c.s, o.(*coordinationv1.Lease), lease)
	})
}
