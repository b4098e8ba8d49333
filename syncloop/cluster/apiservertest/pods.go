package apiservertest

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// pods implements apiserver.Pods.
type pods struct{ c *Client }

func podKey(namespace, name string) objectKey { return objectKey{"pods", namespace, name} }

func (p pods) Get(ctx context.Context, namespace, name string) (*v1.Pod, error) {
	return doRequest(ctx, p.c, Request{Verb: "get", Resource: "pods", Namespace: namespace, Name: name}, func() (*v1.Pod, error) {
		pod, err := p.getPodOfNodeLocked(namespace, name)
		if apierrors.IsNotFound(err) {
			err = p.c.newNodeAuthorizerError("pods", name)
		}
		if err != nil {
			return nil, err
		}
		return pod.DeepCopy(), nil
	})
}

// getPodOfNodeLocked returns a stored pod that is bound to this node. It returns NotFound if the pod does not
// exist, and a Forbidden error for a pod of another node.
func (p pods) getPodOfNodeLocked(namespace, name string) (*v1.Pod, error) {
	o, err := p.c.s.storedObjectOrNotFoundLocked(podKey(namespace, name))
	if err != nil {
		return nil, err
	}
	pod := o.(*v1.Pod)
	if pod.Spec.NodeName != p.c.node {
		return nil, p.c.newNodeAuthorizerError("pods", name)
	}
	return pod, nil
}

func (p pods) Create(ctx context.Context, pod *v1.Pod) (*v1.Pod, error) {
	pod = pod.DeepCopy()
	return doRequest(ctx, p.c, Request{Verb: "create", Resource: "pods", Namespace: pod.Namespace, Name: pod.Name}, func() (*v1.Pod, error) {
		if err := p.c.admitMirrorPodLocked(pod); err != nil {
			return nil, err
		}
		pod.Status = v1.PodStatus{}
		return storeCreated(p.c.s, pod)
	})
}

// storeCreated completes and stores a new object, and returns a copy.
func storeCreated[T Object](s *Server, o T) (T, error) {
	out, err := s.createLocked(o)
	if err != nil {
		var none T
		return none, err
	}
	return out.DeepCopyObject().(T), nil
}

func (p pods) PatchStatus(ctx context.Context, ref apiserver.PodRef, patch []byte) (*v1.Pod, error) {
	r := Request{Verb: "patch", Resource: "pods/status", Namespace: ref.Namespace, Name: ref.Name, Keys: patchFieldPaths(patch), Body: patch}
	return doRequest(ctx, p.c, r, func() (*v1.Pod, error) {
		o, err := p.c.s.storedObjectOrNotFoundLocked(podKey(ref.Namespace, ref.Name))
		if err != nil {
			return nil, err
		}
		before := o.(*v1.Pod)
		after, err := applyPatch(before, patch)
		if err != nil {
			return nil, err
		}
		if err := p.c.admitPodStatus(before, after); err != nil {
			return nil, err
		}
		after.Spec, after.OwnerReferences = before.Spec, before.OwnerReferences
		out, err := p.c.s.updatePodLocked(before, after)
		if err != nil {
			return nil, err
		}
		return out.DeepCopy(), nil
	})
}

// admitPodStatus refuses a status update as the plugin NodeRestriction does: for a pod of another node, and for
// changed labels or resource claim statuses.
func (c *Client) admitPodStatus(before, after *v1.Pod) error {
	switch {
	case before.Spec.NodeName != c.node:
		return c.newNodeRestrictionError("pods", before.Name, "can only update pod status for pods with spec.nodeName set to itself")
	case !equality.Semantic.DeepEqual(before.Labels, after.Labels):
		return c.newNodeRestrictionError("pods", before.Name, "cannot update labels through pod status")
	case !equality.Semantic.DeepEqual(before.Status.ResourceClaimStatuses, after.Status.ResourceClaimStatuses):
		return c.newNodeRestrictionError("pods", before.Name, "cannot update resource claim statuses")
	}
	return nil
}

// updatePodLocked checks the metadata of a changed pod, completes and validates its status, and stores the pod.
// It returns the stored pod.
func (s *Server) updatePodLocked(before, after *v1.Pod) (*v1.Pod, error) {
	if err := refuseConflictOrPreserveMetadata(before, after); err != nil {
		return nil, err
	}
	if err := completeAndValidatePodStatus(before, after); err != nil {
		return nil, err
	}
	out, err := s.updateOrRemoveLocked(before, after)
	if err != nil {
		return nil, err
	}
	return out.(*v1.Pod), nil
}

func (p pods) Delete(ctx context.Context, ref apiserver.PodRef, gracePeriodSeconds *int64) error {
	_, err := doRequest(ctx, p.c, Request{Verb: "delete", Resource: "pods", Namespace: ref.Namespace, Name: ref.Name}, func() (struct{}, error) {
		o, err := p.c.s.storedObjectOrNotFoundLocked(podKey(ref.Namespace, ref.Name))
		if err != nil {
			return struct{}{}, err
		}
		pod := o.(*v1.Pod)
		return struct{}{}, p.c.s.deletePodLocked(pod, &ref.UID, gracePeriodSeconds, func() error {
			if pod.Spec.NodeName != p.c.node {
				return p.c.newNodeRestrictionError("pods", ref.Name, "can only delete pods with spec.nodeName set to itself")
			}
			return nil
		})
	})
	return err
}

// deletePodLocked starts the deletion of a pod or shortens its grace period. If the period is then zero and the
// pod has no finalizers, it removes the pod, or returns a connection reset if the test has requested one here.
// A deletion with no shorter grace period changes nothing and does not call admit.
func (s *Server) deletePodLocked(pod *v1.Pod, uid *types.UID, grace *int64, admit func() error) error {
	if uid != nil && *uid != pod.UID {
		return apierrors.NewConflict(groupResource("pods"), pod.Name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", *uid, pod.UID))
	}
	after, changed := pod.DeepCopy(), false
	switch {
	case isRemovalPending(pod):
	case pod.DeletionTimestamp == nil:
		s.setDeletionTimestampAndGrace(after, effectiveGracePeriod(pod, grace))
		after.Generation++
		changed = true
	case grace == nil || *grace >= *pod.DeletionGracePeriodSeconds:
		return nil // A later deletion can only shorten the grace period.
	default:
		shortenDeletion(after, max(*grace, 0))
		changed = true
	}
	if err := admit(); err != nil {
		return err
	}
	if changed {
		s.storeLocked(keyOfObject(pod), pod, after)
	}
	if *after.DeletionGracePeriodSeconds > 0 || len(after.Finalizers) > 0 {
		return nil
	}
	if s.mu.cut > 0 {
		s.mu.cut--
		return errReset()
	}
	s.removeLocked(keyOfObject(pod))
	return nil
}

// isRemovalPending reports whether a pod is being deleted, has grace period zero and has no finalizers. The
// server only has to remove such a pod.
func isRemovalPending(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil && *pod.DeletionGracePeriodSeconds == 0 && len(pod.Finalizers) == 0
}

// setDeletionTimestampAndGrace sets the grace period of a pod, and the deletion timestamp to the end of that period.
func (s *Server) setDeletionTimestampAndGrace(pod *v1.Pod, grace int64) {
	pod.DeletionTimestamp = &metav1.Time{Time: s.serverTime().Add(time.Duration(grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
}

// shortenDeletion sets a shorter grace period, and moves the deletion timestamp by the difference.
func shortenDeletion(pod *v1.Pod, grace int64) {
	less := time.Duration(grace-*pod.DeletionGracePeriodSeconds) * time.Second
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: pod.DeletionTimestamp.Add(less)}, &grace
}

// effectiveGracePeriod returns the grace period of a deletion: the requested period, or the pod's own if
// requested is nil. It is zero for a pod that is not bound or has terminated, and 1 instead of a negative
// period.
func effectiveGracePeriod(pod *v1.Pod, requested *int64) int64 {
	period := int64(0)
	if requested != nil {
		period = *requested
	} else if pod.Spec.TerminationGracePeriodSeconds != nil {
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	switch {
	case pod.Spec.NodeName == "", pod.Status.Phase == v1.PodFailed, pod.Status.Phase == v1.PodSucceeded:
		return 0
	case period < 0:
		return 1
	}
	return period
}

// setPodDefaults sets the defaults of a new pod, including priority, the tolerations of the not-ready and
// unreachable taints, phase Pending and the QoS class.
func setPodDefaults(pod *v1.Pod) {
	validation.Default(pod)
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = new(int32)
	}
	for _, taint := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		if !hasToleration(pod, taint) {
			seconds := int64(300)
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: taint, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	if pod.Status.Phase == "" {
		pod.Status.Phase = v1.PodPending
	}
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = podstatus.QOSClass(pod)
	}
}

func hasToleration(pod *v1.Pod, taint string) bool {
	for _, t := range pod.Spec.Tolerations {
		if (t.Key == taint || t.Key == "" && t.Operator == v1.TolerationOpExists) && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
