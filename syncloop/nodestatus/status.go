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
	// MaxImages is the maximum number of images in a status.
	MaxImages = 50
	// MaxNames is the maximum number of names of each image.
	MaxNames = 5
	// Period is the time between two computations of the status.
	Period = 10 * time.Second
	// ReportPeriod is the time after which an unchanged status is sent again.
	ReportPeriod = 5 * time.Minute
	// RuntimeTimeout is how long after its last answer a runtime counts as down.
	RuntimeTimeout = 30 * time.Second
	// StartTimeout is how long a restarted agent may take to find the node ready before it reports the node as
	// not ready. Controllers react to a node that is not ready.
	StartTimeout = RuntimeTimeout
)

// Facts are the measured facts about a node.
type Facts struct {
	// Now is the time of the measurement.
	Now time.Time
	// RuntimeSeen is when the runtime has answered last; zero is never.
	RuntimeSeen time.Time
	// Starting is true during the start phase of the agent. A node that is Ready at the server then stays
	// Ready.
	Starting bool
	// Runtime is the status that the runtime has reported at RuntimeSeen.
	Runtime runtime.RuntimeStatus
	// Problems are further sentences that say why the node is not ready.
	Problems []string
	// Pressure are the measured pressure conditions; true means pressure.
	Pressure map[v1.NodeConditionType]bool
	// Addresses are the addresses of the node, the primary IP first.
	Addresses []v1.NodeAddress
	// Capacity are the resources of the node, and Reserved the part that pods cannot use.
	Capacity, Reserved v1.ResourceList
	// Allocatable are the resources for pods. Nil: Capacity less Reserved. Resources without a Capacity are left
	// out, and all of a resource that only Capacity has is for pods.
	Allocatable v1.ResourceList
	// Info describes the system.
	Info v1.NodeSystemInfo
	// Images are the images on the node.
	Images []runtime.Image
	// Handlers are the names of the runtime handlers. If Runtime has handlers, the status has those with
	// their features instead.
	Handlers []string
	// StrictGroups is whether the runtime supports the supplementalGroupsPolicy Strict of pods.
	StrictGroups runtime.Support
	// Features are the declared features of the node, which schedulers and API servers read.
	Features []string
	// Port is the port of the node's API; zero: the API is not served.
	Port int32
}

// Status returns the status of a node. previous is the status before, and may have conditions of other
// components, which the result does not have.
func Status(previous *v1.NodeStatus, f Facts) v1.NodeStatus {
	s := v1.NodeStatus{
		Addresses: slices.Clone(f.Addresses), Capacity: f.Capacity.DeepCopy(), Allocatable: allocatableResources(f),
		NodeInfo: f.Info, Images: largestImages(f.Images), DeclaredFeatures: slices.Sorted(slices.Values(f.Features)),
	}
	s.DaemonEndpoints.KubeletEndpoint.Port = f.Port
	s.RuntimeHandlers = runtimeHandlers(f)
	if f.StrictGroups == runtime.SupportFull {
		s.Features = &v1.NodeFeatures{SupplementalGroupsPolicy: new(true)}
	}
	for _, p := range pressures {
		if under, measured := f.Pressure[p.kind]; measured {
			s.Conditions = append(s.Conditions, p.pressureCondition(under))
		}
	}
	s.Conditions = append(s.Conditions, readyConditionKeepingTrueDuringStart(previous, f))
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

// runtimeHandlers returns the runtime handlers for the status of a node, sorted by name: the ones that the runtime
// reports with their features, or else the names in Handlers.
func runtimeHandlers(f Facts) (all []v1.NodeRuntimeHandler) {
	for _, h := range f.Runtime.Handlers {
		all = append(all, v1.NodeRuntimeHandler{Name: h.Name, Features: &v1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(h.RecursiveReadOnlyMounts), UserNamespaces: new(h.UserNamespaces),
		}})
	}
	if len(all) == 0 {
		for _, name := range f.Handlers {
			all = append(all, v1.NodeRuntimeHandler{Name: name})
		}
	}
	slices.SortFunc(all, func(a, b v1.NodeRuntimeHandler) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// pressure is a pressure condition with the kubelet's reasons and messages. The last one is not the kubelet's: its type
// is eviction.NodeSignalsUnobserved.
type pressure struct {
	kind                   v1.NodeConditionType
	has, hasNot, bad, good string
}

var pressures = [...]pressure{
	{v1.NodeMemoryPressure, "KubeletHasInsufficientMemory", "KubeletHasSufficientMemory", "kubelet has insufficient memory available", "kubelet has sufficient memory available"},
	{v1.NodeDiskPressure, "KubeletHasDiskPressure", "KubeletHasNoDiskPressure", "kubelet has disk pressure", "kubelet has no disk pressure"},
	{v1.NodePIDPressure, "KubeletHasInsufficientPID", "KubeletHasSufficientPID", "kubelet has insufficient PID available", "kubelet has sufficient PID available"},
	{"EvictionSignalsUnobserved", "NoNewMeasurements", "AllMeasured", "signals of the eviction thresholds cannot be measured", "all signals of the eviction thresholds are measured"},
}

// pressureCondition returns the pressure condition with the status True if the node is under pressure, and
// False if it is not.
func (p pressure) pressureCondition(under bool) v1.NodeCondition {
	if under {
		return v1.NodeCondition{Type: p.kind, Status: v1.ConditionTrue, Reason: p.has, Message: p.bad}
	}
	return v1.NodeCondition{Type: p.kind, Status: v1.ConditionFalse, Reason: p.hasNot, Message: p.good}
}

// readyConditionKeepingTrueDuringStart returns the Ready condition of the facts. If the node is starting and
// that condition is not true, it returns the condition in previous, the status at the server, if that is true.
func readyConditionKeepingTrueDuringStart(previous *v1.NodeStatus, f Facts) v1.NodeCondition {
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

// ReadyCondition returns the Ready condition without its times. It is false with the reasons why the node
// cannot run pods.
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

// allocatableResources returns the resources that pods may use. A resource in Facts.Allocatable has the quantity
// given there. If Facts.Allocatable is nil, the quantity is the capacity minus the reserved quantity, but not
// below zero. Any other resource has its full capacity. It ignores a reserved resource that has no capacity or is
// negative.
func allocatableResources(f Facts) v1.ResourceList {
	list := f.Capacity.DeepCopy()
	for name, q := range list {
		if given, ok := f.Allocatable[name]; ok {
			list[name] = given.DeepCopy()
		} else if r, ok := f.Reserved[name]; ok && f.Allocatable == nil && r.Sign() > 0 {
			q.Sub(r)
			if q.Sign() < 0 {
				q.Set(0)
			}
			list[name] = q
		}
	}
	return list
}

// largestImages returns the MaxImages largest images, the largest first. Each has at most MaxNames names,
// digests before tags.
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

// isPortOrResourcesOverwritten reports whether the server has another port, or another quantity of one of the
// node's own resources, than the node. Resources that other components have added do not count. Addresses do
// not count either, because a cloud may set them until the next report.
func isPortOrResourcesOverwritten(server, status *v1.NodeStatus) bool {
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

// ShouldSendStatus reports whether a status must be sent: it differs from the last sent status in more than
// heartbeat times, the last one is older than ReportPeriod, or another writer has changed conditions, the port
// or resources at the server.
func ShouldSendStatus(sent, server *v1.NodeStatus, status v1.NodeStatus, since time.Duration) bool {
	if sent == nil || since >= ReportPeriod || isPortOrResourcesOverwritten(server, &status) || slices.ContainsFunc(status.Conditions, func(c v1.NodeCondition) bool {
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
