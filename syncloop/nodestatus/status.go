package nodestatus

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
)

// The bounds and periods of a node's status.
const (
	// MaxImages is how many images a status names.
	MaxImages = 50
	// MaxNames is how many names it has for each of them.
	MaxNames = 5
	// Period is how often a status is computed.
	Period = 10 * time.Second
	// ReportPeriod is how often it is sent even if nothing has changed.
	ReportPeriod = 5 * time.Minute
	// RuntimeTimeout is how long after its last answer a runtime counts as down.
	RuntimeTimeout = 30 * time.Second
	// StartTimeout is how long an agent that has begun again may take to find the node ready
	// before the server hears that it is not: controllers act upon that.
	StartTimeout = RuntimeTimeout
)

// Facts are what was measured of a node.
type Facts struct {
	// Now is the time of the measurement.
	Now time.Time
	// RuntimeSeen is when the runtime has answered last; zero is never.
	RuntimeSeen time.Time
	// Starting: the start of the node's agent has not ended. A node that the server has as ready
	// stays so for that time.
	Starting bool
	// Runtime is what the runtime has said of itself then.
	Runtime runtime.RuntimeStatus
	// Problems are further sentences that say why the node is not ready.
	Problems []string
	// Pressure are the conditions of pressure that were measured: true is pressure.
	Pressure map[v1.NodeConditionType]bool
	// Addresses are the node's, the primary IP first.
	Addresses []v1.NodeAddress
	// Capacity is what the node has, and Reserved what pods do not get of it.
	Capacity, Reserved v1.ResourceList
	// Info describes the system.
	Info v1.NodeSystemInfo
	// Images are those on the node.
	Images []runtime.Image
	// Handlers are the names of the runtime handlers.
	Handlers []string
	// Features are the declared features: what the node implements of what schedulers and
	// API servers ask for.
	Features []string
	// Port is where the node's API is served; zero is nowhere.
	Port int32
}

// Status is the status of a node. previous is the one before, with the conditions of
// others, which are not in the result.
func Status(previous *v1.NodeStatus, f Facts) v1.NodeStatus {
	s := v1.NodeStatus{
		Addresses: slices.Clone(f.Addresses), Capacity: f.Capacity.DeepCopy(), Allocatable: allocatableResources(f.Capacity, f.Reserved),
		NodeInfo: f.Info, Images: largestImages(f.Images), DeclaredFeatures: slices.Sorted(slices.Values(f.Features)),
	}
	s.DaemonEndpoints.KubeletEndpoint.Port = f.Port
	for _, name := range slices.Sorted(slices.Values(f.Handlers)) {
		s.RuntimeHandlers = append(s.RuntimeHandlers, v1.NodeRuntimeHandler{Name: name})
	}
	for _, p := range pressures {
		if under, measured := f.Pressure[p.kind]; measured {
			s.Conditions = append(s.Conditions, p.condition(under))
		}
	}
	s.Conditions = append(s.Conditions, readyDuringStart(previous, f))
	for i := range s.Conditions {
		c := &s.Conditions[i]
		c.LastHeartbeatTime = metav1.NewTime(f.Now.Truncate(time.Second))
		c.LastTransitionTime = c.LastHeartbeatTime
		for _, before := range previous.Conditions {
			if before.Type == c.Type && before.Status == c.Status {
				c.LastTransitionTime = before.LastTransitionTime
			}
		}
	}
	return s
}

// pressure is a condition of pressure, in the kubelet's words.
type pressure struct {
	kind                   v1.NodeConditionType
	has, hasNot, bad, good string
}

var pressures = [...]pressure{
	{v1.NodeMemoryPressure, "KubeletHasInsufficientMemory", "KubeletHasSufficientMemory", "kubelet has insufficient memory available", "kubelet has sufficient memory available"},
	{v1.NodeDiskPressure, "KubeletHasDiskPressure", "KubeletHasNoDiskPressure", "kubelet has disk pressure", "kubelet has no disk pressure"},
	{v1.NodePIDPressure, "KubeletHasInsufficientPID", "KubeletHasSufficientPID", "kubelet has insufficient PID available", "kubelet has sufficient PID available"},
}

func (p pressure) condition(under bool) v1.NodeCondition {
	if under {
		return v1.NodeCondition{Type: p.kind, Status: v1.ConditionTrue, Reason: p.has, Message: p.bad}
	}
	return v1.NodeCondition{Type: p.kind, Status: v1.ConditionFalse, Reason: p.hasNot, Message: p.good}
}

// readyDuringStart is Ready, or what the server has of it while the agent starts.
func readyDuringStart(previous *v1.NodeStatus, f Facts) v1.NodeCondition {
	if c := ReadyCondition(f); c.Status == v1.ConditionTrue || !f.Starting {
		return c
	}
	for _, before := range previous.Conditions {
		if before.Type == v1.NodeReady && before.Status == v1.ConditionTrue {
			return before
		}
	}
	return ReadyCondition(f)
}

// ReadyCondition says whether the node can run pods, and why not. Its times are not set.
func ReadyCondition(f Facts) v1.NodeCondition {
	var problems []string
	switch {
	case f.RuntimeSeen.IsZero():
		problems = append(problems, "container runtime status check may not have completed yet")
	case f.Now.Sub(f.RuntimeSeen) > RuntimeTimeout:
		problems = append(problems, "container runtime is down")
	default:
		if !f.Runtime.RuntimeReady {
			problems = append(problems, cmp.Or(f.Runtime.RuntimeMessage, "container runtime is not ready"))
		}
		if !f.Runtime.NetworkReady {
			problems = append(problems, cmp.Or(f.Runtime.NetworkMessage, "container runtime network is not ready"))
		}
	}
	if problems = append(problems, f.Problems...); len(problems) > 0 {
		return v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionFalse, Reason: "KubeletNotReady", Message: strings.Join(problems, "; ")}
	}
	return v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}
}

// allocatableResources is the capacity without what is reserved of it.
func allocatableResources(capacity, reserved v1.ResourceList) v1.ResourceList {
	list := capacity.DeepCopy()
	for name, q := range list {
		if r, ok := reserved[name]; ok && r.Sign() > 0 {
			q.Sub(r)
			if q.Sign() < 0 {
				q.Set(0)
			}
			list[name] = q
		}
	}
	return list
}

// largestImages are the largest images with their names, digests first.
func largestImages(all []runtime.Image) (list []v1.ContainerImage) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b runtime.Image) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), cmp.Compare(a.ID, b.ID))
	})
	for _, image := range all[:min(len(all), MaxImages)] {
		names := slices.Concat(image.Digests, image.Tags)
		list = append(list, v1.ContainerImage{Names: names[:min(len(names), MaxNames)], SizeBytes: int64(image.SizeBytes)})
	}
	return list
}

// isOverwritten reports whether a server has another port or other resources than the node. Resources that
// others have added stay, and addresses may be those of a cloud until the next report.
func isOverwritten(server, status *v1.NodeStatus) bool {
	lacks := func(server, own v1.ResourceList) bool {
		for name, q := range own {
			if q.Cmp(server[name]) != 0 {
				return true
			}
		}
		return false
	}
	return server.DaemonEndpoints != status.DaemonEndpoints || lacks(server.Capacity, status.Capacity) || lacks(server.Allocatable, status.Allocatable)
}

// ShouldSendStatus reports whether a status is to be sent: it differs from the one that was sent last
// in more than the time of its heartbeats, or that was long ago, or another writer has changed
// conditions, the port or resources of the node at the server.
func ShouldSendStatus(sent, server *v1.NodeStatus, status v1.NodeStatus, since time.Duration) bool {
	if sent == nil || since >= ReportPeriod || isOverwritten(server, &status) || slices.ContainsFunc(status.Conditions, func(c v1.NodeCondition) bool {
		return !slices.ContainsFunc(server.Conditions, func(s v1.NodeCondition) bool {
			return s.Type == c.Type && s.Status == c.Status && s.Reason == c.Reason && s.Message == c.Message
		})
	}) {
		return true
	}
	a, b := sent.DeepCopy(), status.DeepCopy()
	for _, s := range [...]*v1.NodeStatus{a, b} {
		for i := range s.Conditions {
			s.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
	}
	return !equality.Semantic.DeepEqual(a, b)
}
