package patch

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// podFields are the fields of a pod's status that the node owns, besides conditions.
func podFields(s *v1.PodStatus) []field {
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

// PodStatus returns the strategic merge patch that brings the status of the pod with this
// UID from the one at the server to the wanted one, in what the node owns. A nil server
// means that the status there is not known. The patch is nil if nothing differs. Neither
// argument is changed.
func PodStatus(uid types.UID, server, want *v1.PodStatus) ([]byte, error) {
	known := server != nil
	if !known {
		server = &v1.PodStatus{}
	}
	o := object{}
	if err := o.addDifferences(known, podFields(server), podFields(want)); err != nil {
		return nil, err
	}
	if want.ObservedGeneration > server.ObservedGeneration {
		o["observedGeneration"] = want.ObservedGeneration
	}
	if conditions := changedConditions(known, server, want); len(conditions) > 0 {
		o["conditions"] = conditions
	}
	if len(o) == 0 {
		return nil, nil
	}
	return marshal(object{"metadata": object{"uid": uid}, "status": o})
}

// WithVersion adds a resource version to a patch of PodStatus, as a precondition: a server that has
// another version of the pod refuses the patch with reason Conflict. Only the version keeps a patch
// from a pod that is deleted with force at the same time: the server takes it for the second step
// of that removal, which removes whatever has the name by then.
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
	return marshal(o)
}

// changedConditions are the conditions of the node that differ, and those that are gone. The
// scheduler writes PodScheduled before the node does, so it is not removed.
func changedConditions(known bool, server, want *v1.PodStatus) []object {
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

// equalConditions compares what a condition says. Times alone are no difference.
func equalConditions(a, b *v1.PodCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration
}

// OnlyNodeFieldsDiffer reports whether two states of one pod at the server differ in nothing but
// what its node writes there. It is for telling the echo of the node's own write from news.
// It is false for different UIDs.
func OnlyNodeFieldsDiffer(a, b *v1.Pod) bool {
	x, y := *a, *b
	for _, p := range []*v1.Pod{&x, &y} {
		p.ResourceVersion, p.ManagedFields = "", nil
		others := v1.PodStatus{QOSClass: p.Status.QOSClass, Resize: p.Status.Resize, Conditions: foreign(p.Status.Conditions)}
		podstatus.CopyForeignFields(&others, &p.Status)
		p.Status = others
	}
	return equality.Semantic.DeepEqual(&x, &y)
}

// foreign are the conditions that the node does not write alone.
func foreign(conditions []v1.PodCondition) []v1.PodCondition {
	var rest []v1.PodCondition
	for _, c := range conditions {
		if !podstatus.IsNodeCondition(c.Type) || c.Type == v1.DisruptionTarget {
			rest = append(rest, c)
		}
	}
	return rest
}

// CanDelete reports whether the node may delete a pod with grace zero: server is its
// state as the server has acknowledged or shown it last, uid the pod that the node has run,
// and finished says that nothing of it runs and its resources are released. A mirror pod is
// never deleted this way. A pod whose grace is zero already may wait for its finalizers, and
// another deletion changes nothing then. Without finalizers the server removes it, see Removed.
func CanDelete(server *v1.Pod, uid types.UID, finished bool) bool {
	_, mirror := server.Annotations[v1.MirrorPodAnnotationKey]
	if !finished || mirror || server.UID != uid || server.DeletionTimestamp == nil {
		return false
	}
	return IsRemoved(server) || podstatus.IsTerminal(server.Status.Phase) && !graceless(server)
}

// IsRemoved reports whether a server removes a pod now, as it was deleted with force. It does so in two
// steps, and a patch between them is taken for the second one, which removes whatever has the name by
// then, perhaps a new pod. So nothing is written to such a pod. If it stays, the server was ended
// between the steps, and a deletion with its UID is all that is left to do.
func IsRemoved(server *v1.Pod) bool {
	return server.DeletionTimestamp != nil && graceless(server) && len(server.Finalizers) == 0
}

// graceless reports whether the grace of a deletion is zero.
func graceless(server *v1.Pod) bool {
	return server.DeletionGracePeriodSeconds != nil && *server.DeletionGracePeriodSeconds == 0
}

func marshal(o any) ([]byte, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("patch: cannot be written as JSON: %w", err)
	}
	return raw, nil
}
