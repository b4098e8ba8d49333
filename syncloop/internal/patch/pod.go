package patch

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// podFieldsExceptConditionsAndGeneration returns fields of a pod's status, each with its value and with how a
// patch changes it. PodStatus adds the conditions and observedGeneration. No patch has the other fields, such
// as qosClass.
func podFieldsExceptConditionsAndGeneration(s *v1.PodStatus) []field {
	return []field{
		{"phase", s.Phase, replaceValue},
		{"reason", s.Reason, replaceValue},
		{"message", s.Message, replaceValue},
		{"hostIP", s.HostIP, replaceValue},
		{"hostIPs", s.HostIPs, replaceList},
		{"podIP", s.PodIP, replaceValue},
		{"podIPs", s.PodIPs, replaceList},
		{"startTime", s.StartTime, replaceValue},
		{"initContainerStatuses", s.InitContainerStatuses, replaceValue},
		{"containerStatuses", s.ContainerStatuses, replaceValue},
		{"ephemeralContainerStatuses", s.EphemeralContainerStatuses, replaceValue},
		{"allocatedResources", s.AllocatedResources, setAndRemoveKeys},
		{"resources", s.Resources, setAndRemoveKeys},
	}
}

// PodStatus returns the strategic merge patch that changes the status of the pod with this UID from server to
// want, in the fields that the node owns. A nil server means that the status at the server is not known. It
// returns nil if nothing differs. It changes neither argument.
func PodStatus(uid types.UID, server, want *v1.PodStatus) ([]byte, error) {
	known := server != nil
	if !known {
		server = &v1.PodStatus{}
	}
	o := object{}
	if err := o.addDifferences(known, podFieldsExceptConditionsAndGeneration(server), podFieldsExceptConditionsAndGeneration(want)); err != nil {
		return nil, err
	}
	if want.ObservedGeneration > server.ObservedGeneration {
		o["observedGeneration"] = want.ObservedGeneration
	}
	if conditions := conditionPatchEntries(known, server, want); len(conditions) > 0 {
		o["conditions"] = conditions
	}
	if len(o) == 0 {
		return nil, nil
	}
	return marshalPatch(object{"metadata": object{"uid": uid}, "status": o})
}

// WithVersion adds a resource version to a patch of PodStatus as a precondition: a server with another version
// refuses the patch with reason Conflict. A pod may be deleted with force at the same time. Without the
// version the server would take the patch for the second step of that removal, and remove the pod that has the
// name by then.
func WithVersion(raw []byte, version string) ([]byte, error) {
	var o struct {
		Metadata struct {
			ResourceVersion string    `json:"resourceVersion"`
			UID             types.UID `json:"uid"`
		} `json:"metadata"`
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	o.Metadata.ResourceVersion = version
	return marshalPatch(o)
}

// conditionPatchEntries returns patch entries for the pod conditions that the node owns: a new value for each
// that differs, and a "$patch: delete" for each that the pod must not have. PodScheduled is never deleted,
// because the scheduler writes it before. DisruptionTarget is only written when the pod becomes terminal.
func conditionPatchEntries(known bool, server, want *v1.PodStatus) []object {
	var changed []object
	for _, t := range podstatus.NodeConditions() {
		old, now := podstatus.FindCondition(server.Conditions, t), podstatus.FindCondition(want.Conditions, t)
		switch {
		case t == v1.DisruptionTarget && (now == nil || !podstatus.IsTerminal(want.Phase) || podstatus.IsTerminal(server.Phase)):
		case now == nil:
			if t != v1.PodScheduled && (old != nil || !known) {
				changed = append(changed, object{"type": t, "$patch": "delete"})
			}
		case old == nil || !equalConditions(old, now):
			changed = append(changed, object{
				"type": t, "status": now.Status, "reason": nilIfZero(now.Reason), "message": nilIfZero(now.Message),
				"lastProbeTime": now.LastProbeTime, "lastTransitionTime": now.LastTransitionTime,
				"observedGeneration": nilIfZero(now.ObservedGeneration),
			})
		}
	}
	return changed
}

// equalConditions reports whether two conditions have the same status, reason, message and observed generation.
// It ignores their times.
func equalConditions(a, b *v1.PodCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration
}

// OnlyNodeFieldsDiffer reports whether two states of one pod at the server differ only in fields that its node
// writes. The node then ignores the new state as an echo of its own write. It returns false for different
// UIDs.
func OnlyNodeFieldsDiffer(a, b *v1.Pod) bool {
	x, y := *a, *b
	for _, p := range []*v1.Pod{&x, &y} {
		p.ResourceVersion, p.ManagedFields = "", nil
		others := v1.PodStatus{QOSClass: p.Status.QOSClass, Resize: p.Status.Resize, Conditions: conditionsOfOthers(p.Status.Conditions)}
		podstatus.CopyForeignFields(&others, &p.Status)
		p.Status = others
	}
	return equality.Semantic.DeepEqual(&x, &y)
}

// conditionsOfOthers returns the conditions that other components write, including DisruptionTarget, which the
// node writes too.
func conditionsOfOthers(conditions []v1.PodCondition) []v1.PodCondition {
	var rest []v1.PodCondition
	for _, c := range conditions {
		if !podstatus.IsNodeCondition(c.Type) || c.Type == v1.DisruptionTarget {
			rest = append(rest, c)
		}
	}
	return rest
}

// CanDelete reports whether the node may delete a pod with grace zero. server is the newest state that the
// server has shown or acknowledged. uid is the pod that the node has run. finished means that no container of
// it runs and its resources are released. A mirror pod is never deleted this way. A pod with grace zero may
// wait for its finalizers, and another deletion would change nothing; without finalizers the server removes
// it, see IsBeingRemoved.
func CanDelete(server *v1.Pod, uid types.UID, finished bool) bool {
	_, mirror := server.Annotations[v1.MirrorPodAnnotationKey]
	if !finished || mirror || server.UID != uid || server.DeletionTimestamp == nil {
		return false
	}
	return IsBeingRemoved(server) || podstatus.IsTerminal(server.Status.Phase) && !hasZeroGrace(server)
}

// IsBeingRemoved reports whether a server is removing a pod that was deleted with force. The server does this in
// two steps. It would take a patch between them for the second step, and remove the pod that has the name by
// then, perhaps a new one. So the node writes nothing to such a pod. If the pod stays, the server was stopped
// between the steps, and the node can only delete the pod by its UID.
func IsBeingRemoved(server *v1.Pod) bool {
	return server.DeletionTimestamp != nil && hasZeroGrace(server) && len(server.Finalizers) == 0
}

// hasZeroGrace reports whether the deletion grace period of a pod is set to zero.
func hasZeroGrace(server *v1.Pod) bool {
	return server.DeletionGracePeriodSeconds != nil && *server.DeletionGracePeriodSeconds == 0
}

// marshalPatch encodes a patch as JSON.
func marshalPatch(o any) ([]byte, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("patch: cannot encode the patch: %w", err)
	}
	return raw, nil
}
