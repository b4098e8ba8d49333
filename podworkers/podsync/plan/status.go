package plan

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// StatusInput is what Status needs to know about a pod.
type StatusInput struct {
	Pod *v1.Pod
	// Runtime has the records of the pod, of all incarnations.
	Runtime *runtime.PodStatus
	// Incarnation is the current incarnation of the pod. Addresses: the runtime reports the
	// addresses of sandboxes. Both are the same as in Input.
	Incarnation uint64
	Addresses   bool
	// Resizes: the runtime can update the resources of a running container, as in Input.
	Resizes bool
	// RecursiveReadOnly: the runtime handler of the pod supports recursive read-only mounts.
	RecursiveReadOnly bool
	// Old is the newest status that was published for this incarnation. Nil: none was published, and
	// the status in Pod is used. The new status shares the lists of Old that have not changed. The
	// caller must not use Old afterwards, because a change of the new status changes Old too.
	Old *v1.PodStatus
	// Terminal: no container of the pod runs or will run again.
	Terminal bool
	// Ending: the node is terminating the pod, so a sandbox that is not ready was stopped by this
	// node. Terminal and a deleted Pod imply it.
	Ending bool
	// Memory is the memory of the last decision, as in Input.
	Memory Memory
	// Static: the pod does not come from an API server.
	Static bool
	// Starting has the starts of regular containers that the executor is performing. A container
	// that was stopped for such a start has not finished, whatever its restart policy is.
	Starting []Step
	// PodValues are the values of the cgroup of a pod with resources of its own. Nil: the pod has no cgroup, or
	// its values are not known.
	PodValues *podresources.PodValues
	// HostIPs has the addresses of the node, the primary one first.
	HostIPs []string
	// RuntimeName is the scheme of container IDs, as in "containerd://...".
	RuntimeName string

	sandboxes     podSandboxes // the pod's sandboxes, by findPodSandboxes
	starting      podspec.Index[Step]
	restartingAll bool // all containers are restarting
	hasOld        bool // the caller gave an Old
}

// Reason is why a container waits.
type Reason struct {
	Reason  string // one word, such as "ErrImagePull"
	Message string // for people
}

// Status returns the status of a pod: phase, conditions and containers. The result may share the
// lists of Old, so the caller must not use Old afterwards.
func Status(in StatusInput) v1.PodStatus {
	return CompleteStatus(in, ContainerStatuses(in))
}

// ContainerStatuses is the first half of Status: it returns the status of each container, and the
// addresses. The lists of containers may be the lists of Old. A running container without probes
// is started and ready. A running container with probes keeps the published Started and Ready of
// the same container. The caller sets Started and Ready of containers that have probes before it
// calls CompleteStatus.
func ContainerStatuses(in StatusInput) v1.PodStatus {
	in.setDefaultsAndCompute()
	s := v1.PodStatus{
		ObservedGeneration: in.Pod.Generation,
		QOSClass:           podstatus.QOSClass(in.Pod),
	}
	podstatus.CopyForeignFields(&s, &in.Pod.Status)
	setContainerStatuses(&s, &in)
	setStartTimeFromOldOrSandbox(&s, &in)
	setAddresses(&s, &in)
	return s
}

// CompleteStatus is the second half of Status. It returns the result of ContainerStatuses with the
// phase of the pod, its reason and its conditions. A container in an older sandbox is not ready, and
// one whose postStart hook has not succeeded is neither started nor ready, whatever the probes say.
// It calls podstatus.Conclude with the sandbox and the restarts that the records show.
func CompleteStatus(in StatusInput, status v1.PodStatus) v1.PodStatus {
	in.setDefaultsAndCompute()
	in.Memory.setNotStartedWhilePostStartPending(&status)
	in.setNotReadyInOlderSandbox(&status)
	status = podstatus.Conclude(in.Pod, status, in.buildObserved(&status))
	in.completeResizeConditions(&status)
	in.setPodResources(&status)
	if status.Phase == v1.PodFailed && status.Reason == "" && status.Message == "" {
		status.Message = describeCancelledStart(&status)
	}
	return status
}

// describeCancelledStart returns a message that names the first init or regular container whose start was
// cancelled, so that it may or may not have run. It returns "" if there is no such container.
func describeCancelledStart(s *v1.PodStatus) string {
	for _, list := range [...][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			if end := list[i].State.Terminated; end != nil && end.Message == messageStartCancelled {
				return "container " + list[i].Name + ": " + messageStartCancelled
			}
		}
	}
	return ""
}

// setDefaultsAndCompute replaces nil fields by defaults and computes the unexported fields. It also adds
// unpublished starts to Old, and sets Incarnation to 0 if the runtime does not store that number.
func (in *StatusInput) setDefaultsAndCompute() {
	if in.Pod == nil {
		in.Pod = new(v1.Pod)
	}
	if in.Runtime == nil {
		in.Runtime = &runtime.PodStatus{UID: in.Pod.UID}
	}
	if in.hasOld = in.Old != nil; !in.hasOld {
		in.Old = &in.Pod.Status
	}
	in.Old = in.Memory.withUnpublishedStarts(in.Old, in.RuntimeName)
	in.starting = podspec.NewIndex(in.Starting, func(s *Step) string { return s.Name })
	in.Incarnation = comparableIncarnation(in.Runtime, in.Incarnation)
	in.sandboxes = findPodSandboxes(in.Pod, in.Runtime, in.Incarnation, in.Addresses)
	in.restartingAll = isRestartingAll(in)
}

// setStartTimeFromOldOrSandbox sets the start time of a status to the published one, or to the creation time of the pod's
// oldest sandbox. It leaves the start time empty if there is neither. Without the sandbox,
// activeDeadlineSeconds would start over after a restart of the agent.
func setStartTimeFromOldOrSandbox(s *v1.PodStatus, in *StatusInput) {
	if !in.Old.StartTime.IsZero() {
		s.StartTime = in.Old.StartTime
		return
	}
	var start time.Time
	for i := range in.Runtime.Sandboxes {
		b := &in.Runtime.Sandboxes[i]
		if b.Incarnation == in.Incarnation && !b.CreatedAt.IsZero() && (start.IsZero() || b.CreatedAt.Before(start)) {
			start = b.CreatedAt
		}
	}
	if !start.IsZero() {
		s.StartTime = &metav1.Time{Time: start}
	}
}

// isTerminatingTerminatedOrDeleted reports whether the pod is being terminated or has terminated, or has a
// deletion timestamp.
func (in *StatusInput) isTerminatingTerminatedOrDeleted() bool {
	return in.Ending || in.Terminal || in.Pod.DeletionTimestamp != nil
}

// IsTerminal reports whether a phase is Succeeded or Failed.
func IsTerminal(p v1.PodPhase) bool { return podstatus.IsTerminal(p) }

// isSandboxLost reports whether the sandbox of the pod cannot be used, no container justifies a new one, and no
// container of the pod runs.
func isSandboxLost(in *StatusInput) bool {
	if in.sandboxes.replaceReason == "" {
		return false
	}
	x := recordIndex{containerMemories: in.Memory.containers}
	x.readRecords(in.Pod, in.Runtime, in.Incarnation, anySandboxID)
	x.readPublished(in.Old)
	if _, worthwhile := x.containersForNewSandbox(in.Pod); worthwhile {
		return false
	}
	for i := range in.Runtime.Containers {
		c := &in.Runtime.Containers[i]
		if c.Incarnation == in.Incarnation && c.State != runtime.StateExited && c.State != runtime.StateCreated {
			return false
		}
	}
	return true
}

// setAddresses sets the addresses of the host and of the pod in a status. If the addresses are unchanged, it
// uses the published lists.
func setAddresses(s *v1.PodStatus, in *StatusInput) {
	s.HostIPs = in.Old.HostIPs
	if !in.hasOld || !slices.EqualFunc(in.HostIPs, s.HostIPs, func(ip string, old v1.HostIP) bool { return ip == old.IP }) {
		s.HostIPs = make([]v1.HostIP, len(in.HostIPs))
		for i, ip := range in.HostIPs {
			s.HostIPs[i].IP = ip
		}
	}
	if len(s.HostIPs) > 0 {
		s.HostIP = s.HostIPs[0].IP
	}
	s.PodIPs = podIPs(in)
	if len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	}
}

// podIPs returns the addresses of the pod: at most one IPv4 and one IPv6 address, the family of the node first.
// In the host network these are the published addresses and then the node's addresses. If there is no sandbox,
// or a sandbox that is not ready has no address, it returns the published addresses, so that clients still find
// the terminating pod.
func podIPs(in *StatusInput) []v1.PodIP {
	sandbox := in.sandboxes.current
	var ips []string
	switch {
	case in.Pod.Spec.HostNetwork:
		ips = append(podIPStrings(in.Old.PodIPs), in.HostIPs...)
	case sandbox != nil && len(sandbox.IPs) > 0:
		ips = sortByNodeFamily(sandbox.IPs, in.HostIPs)
	case sandbox == nil || !sandbox.Ready:
		ips = podIPStrings(in.Old.PodIPs)
	}
	var room [2]v1.PodIP
	out := room[:0]
	for _, ip := range ips {
		if !slices.ContainsFunc(out, func(have v1.PodIP) bool { return isIPv6(have.IP) == isIPv6(ip) }) {
			out = append(out, v1.PodIP{IP: ip})
		}
	}
	if in.hasOld && slices.Equal(out, in.Old.PodIPs) {
		return in.Old.PodIPs
	}
	return slices.Clone(out)
}

// podIPStrings returns the addresses in a list of PodIPs as strings.
func podIPStrings(ips []v1.PodIP) []string {
	var out []string
	for _, ip := range ips {
		out = append(out, ip.IP)
	}
	return out
}

// sortByNodeFamily returns the addresses sorted by family: the family of the node's first address comes first,
// or IPv4 if the node has no address. The order within a family stays. ips itself does not change.
func sortByNodeFamily(ips, node []string) []string {
	if len(ips) < 2 {
		return ips
	}
	six := len(node) > 0 && isIPv6(node[0])
	ips = slices.Clone(ips)
	slices.SortStableFunc(ips, func(a, b string) int {
		return boolRank(isIPv6(a) != six) - boolRank(isIPv6(b) != six)
	})
	return ips
}

// boolRank returns a sort key: 1 for true and 0 for false.
func boolRank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// isIPv6 reports whether an address contains a colon, as each IPv6 address does.
func isIPv6(ip string) bool { return strings.Contains(ip, ":") }
