package plan

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// StatusInput is everything that decides what to say of a pod.
type StatusInput struct {
	Pod *v1.Pod
	// Runtime is what the runtime shows of the pod, all incarnations included.
	Runtime *runtime.PodStatus
	// Incarnation is the incarnation that counts, and Addresses says that the runtime reports
	// the addresses of sandboxes. Both are as in Input.
	Incarnation uint64
	Addresses   bool
	// Old is the newest status published for this incarnation. Nil: none yet, the one
	// that came with the pod counts. It is given away: its lists are those of the
	// status that is made, as far as they say the same.
	Old *v1.PodStatus
	// Terminal says that nothing of the pod runs any more, or ever will.
	Terminal bool
	// Ending says that the pod is being ended on request, so that a sandbox which
	// is not ready was stopped by this node. Terminal and a deleted Pod imply it.
	Ending bool
	// Memory is what the last decision left, as in Input.
	Memory Memory
	// Static says that the pod does not come from the API.
	Static bool
	// Starting are the regular containers that were decided to be started, and are
	// being. One that was ended for that is not at its end, whatever its policy
	// says of how it ended.
	Starting []Step
	// HostIPs are the addresses of the node, primary first.
	HostIPs []string
	// RuntimeName is the scheme of container IDs, as in "containerd://...".
	RuntimeName string

	place    place // where the containers are
	starting podspec.Index[Step]
	anew     bool // all of them are beginning anew
	given    bool // there was an Old
}

// Reason is why a container waits.
type Reason struct {
	Reason  string // one word, as "ErrImagePull"
	Message string // for people
}

// Status says what is true of a pod: phase, conditions and containers. It
// changes nothing of its input, and its result shares nothing with the input but the
// lists of Old.
func Status(in StatusInput) v1.PodStatus {
	return CompleteStatus(in, ContainerStatuses(in))
}

// ContainerStatuses is the first half of Status: the status of each container and the addresses.
// A container that runs counts as started and ready. The caller sets Started and Ready of
// containers that have probes before it calls CompleteStatus.
func ContainerStatuses(in StatusInput) v1.PodStatus {
	in.complete()
	s := v1.PodStatus{
		ObservedGeneration: in.Pod.Generation,
		QOSClass:           podstatus.QOSClass(in.Pod),
	}
	podstatus.CopyForeignFields(&s, &in.Pod.Status)
	setContainers(&s, &in)
	setStart(&s, &in)
	setAddresses(&s, &in)
	return s
}

// CompleteStatus is the second half of Status. It returns the result of Containers with the phase of
// the pod, its reason and its conditions. It calls podstatus.Conclude with the sandbox and the
// restarts that the records show.
func CompleteStatus(in StatusInput, status v1.PodStatus) v1.PodStatus {
	in.complete()
	in.Memory.hidePostStartPending(&status)
	status = podstatus.Conclude(in.Pod, status, in.observed(&status))
	if status.Phase == v1.PodFailed && status.Reason == "" && status.Message == "" {
		status.Message = describeCancelledStart(&status)
	}
	return status
}

// describeCancelledStart returns the message of a Failed pod whose container may or may not have
// run, because its start was cancelled. It returns the empty string if there is no such container.
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

// complete puts something in the place of what is not known, and finds out what
// concerns all containers.
func (in *StatusInput) complete() {
	if in.Pod == nil {
		in.Pod = new(v1.Pod)
	}
	if in.Runtime == nil {
		in.Runtime = &runtime.PodStatus{UID: in.Pod.UID}
	}
	if in.given = in.Old != nil; !in.given {
		in.Old = &in.Pod.Status
	}
	in.Old = in.Memory.withStarts(in.Old, in.RuntimeName)
	in.starting = podspec.NewIndex(in.Starting, func(s *Step) string { return s.Name })
	in.Incarnation = storedIncarnation(in.Runtime, in.Incarnation)
	in.place = findPlace(in.Pod, in.Runtime, in.Incarnation, in.Addresses)
	in.anew = restartingAll(in)
}

// setStart says since when the node has had the pod, if that is known: once it
// was said it stays, and if nobody remembers the oldest sandbox does. So
// an activeDeadlineSeconds does not begin anew with the agent.
func setStart(s *v1.PodStatus, in *StatusInput) {
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

// isEnding reports whether this node ends the pod, or has.
func (in *StatusInput) isEnding() bool {
	return in.Ending || in.Terminal || in.Pod.DeletionTimestamp != nil
}

// IsTerminal reports whether a phase is an end.
func IsTerminal(p v1.PodPhase) bool { return podstatus.IsTerminal(p) }

// sandboxLost reports whether a pod with containers that never ran can never run
// them: Decide makes no sandbox for it, and nothing runs.
func sandboxLost(in *StatusInput) bool {
	if in.place.replace == "" {
		return false
	}
	x := index{pasts: in.Memory.pasts}
	x.read(in.Pod, in.Runtime, in.Incarnation, anySandbox)
	x.publish(in.Old)
	if _, worthwhile := x.anew(in.Pod); worthwhile {
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

// setAddresses fills in where the pod can be reached.
func setAddresses(s *v1.PodStatus, in *StatusInput) {
	s.HostIPs = in.Old.HostIPs
	if !in.given || !slices.EqualFunc(in.HostIPs, s.HostIPs, func(ip string, old v1.HostIP) bool { return ip == old.IP }) {
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

// podIPs are the sandbox's, at most one of a family and the node's family
// first. A host-network pod has the node's; its first one never changes. A
// stopped sandbox has none, so the last addresses stay until there is another:
// a pod that ends, perhaps not at the first attempt, is still told apart by them.
func podIPs(in *StatusInput) []v1.PodIP {
	sandbox := in.place.current
	var ips []string
	switch {
	case in.Pod.Spec.HostNetwork:
		ips = append(addresses(in.Old.PodIPs), in.HostIPs...)
	case sandbox != nil && len(sandbox.IPs) > 0:
		ips = nodeFamilyFirst(sandbox.IPs, in.HostIPs)
	case sandbox == nil || !sandbox.Ready:
		ips = addresses(in.Old.PodIPs)
	}
	var room [2]v1.PodIP
	out := room[:0]
	for _, ip := range ips {
		if !slices.ContainsFunc(out, func(have v1.PodIP) bool { return isIPv6(have.IP) == isIPv6(ip) }) {
			out = append(out, v1.PodIP{IP: ip})
		}
	}
	if in.given && slices.Equal(out, in.Old.PodIPs) {
		return in.Old.PodIPs
	}
	return slices.Clone(out)
}

func addresses(ips []v1.PodIP) []string {
	var out []string
	for _, ip := range ips {
		out = append(out, ip.IP)
	}
	return out
}

// nodeFamilyFirst puts the addresses of the node's family first: IPv4 if the
// node's is not known.
func nodeFamilyFirst(ips, node []string) []string {
	if len(ips) < 2 {
		return ips
	}
	six := len(node) > 0 && isIPv6(node[0])
	ips = slices.Clone(ips)
	slices.SortStableFunc(ips, func(a, b string) int {
		return rank(isIPv6(a) != six) - rank(isIPv6(b) != six)
	})
	return ips
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

func isIPv6(ip string) bool { return strings.Contains(ip, ":") }
