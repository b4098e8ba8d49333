package localapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podkeel/podkeel/syncloop/node"
)

// newColumn returns a Table column of strings. kubectl shows a wide column only with -o wide. The column Name
// gets the format name.
func newColumn(name, description string, wide bool) metav1.TableColumnDefinition {
	c := metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
	if name == "Name" {
		c.Format = "name"
	}
	if wide {
		c.Priority = 1
	}
	return c
}

const (
	nameMeaning = "The name of the object."
	ageMeaning  = "How long ago the object was created."
	none        = "<none>"
	unknown     = "<unknown>"
)

func podColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		newColumn("Name", nameMeaning, false),
		newColumn("Ready", "How many of the containers are ready.", false),
		newColumn("Status", "The state of the pod in a word.", false),
		newColumn("Restarts", "How many times containers were restarted, and when that was last.", false),
		newColumn("Age", ageMeaning, false),
		newColumn("IP", "The address of the pod.", true),
		newColumn("Node", "The node of the pod.", true),
		newColumn("Nominated Node", "The node for which the pod waits.", true),
		newColumn("Readiness Gates", "How many of the readiness gates are true.", true),
	}
}

// podRow returns the cells of a pod as kubectl shows them, and a condition if the pod has succeeded or failed.
func podRow(o object, now time.Time) (cells []any, conditions []metav1.TableRowCondition) {
	pod := o.(*v1.Pod)
	s := node.Summarize(pod, false)
	ip := none
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	switch pod.Status.Phase {
	case v1.PodSucceeded, v1.PodFailed:
		conditions = []metav1.TableRowCondition{{
			Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(pod.Status.Phase),
			Message: map[v1.PodPhase]string{v1.PodSucceeded: "The pod has completed successfully.", v1.PodFailed: "The pod failed."}[pod.Status.Phase],
		}}
	}
	return []any{
		pod.Name, s.Ready, s.Status, formatRestarts(s, now), formatAge(pod.CreationTimestamp, now),
		ip, cmp.Or(pod.Spec.NodeName, none), cmp.Or(pod.Status.NominatedNodeName, none), formatReadinessGates(pod),
	}, conditions
}

// formatRestarts formats the restart count, and the age of the last restart if it is known.
func formatRestarts(s node.Summary, now time.Time) string {
	if s.Restarts == 0 || s.LastRestart.IsZero() {
		return fmt.Sprint(s.Restarts)
	}
	return fmt.Sprintf("%d (%s ago)", s.Restarts, formatAge(metav1.NewTime(s.LastRestart), now))
}

// formatReadinessGates formats how many readiness gates are true, such as 1/2, or <none> for a pod without
// readiness gates.
func formatReadinessGates(pod *v1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return none
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == v1.ConditionTrue
		}) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// formatAge formats the time since a timestamp, or <unknown> for a zero timestamp.
func formatAge(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

func eventColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		newColumn("Last Seen", "How long ago the event was recorded last.", false),
		newColumn("Type", "Normal or Warning.", false),
		newColumn("Reason", "What has happened, in a word.", false),
		newColumn("Object", "To what it has happened.", false),
		newColumn("Subobject", "To which part of it.", true),
		newColumn("Source", "The component that has recorded the event.", true),
		newColumn("Message", "What has happened, in a sentence.", false),
		newColumn("First Seen", "How long ago the event was recorded for the first time.", true),
		newColumn("Count", "How many times the event was recorded.", true),
		newColumn("Name", nameMeaning, true),
	}
}

// eventRow returns the cells of an event as kubectl shows them, and no conditions.
func eventRow(o object, now time.Time) ([]any, []metav1.TableRowCondition) {
	e := o.(*v1.Event)
	first, last := e.FirstTimestamp, e.LastTimestamp
	if first.IsZero() {
		first = metav1.Time(e.EventTime)
	}
	if last.IsZero() {
		last = first
	}
	source := cmp.Or(e.Source.Component, e.ReportingController)
	if host := cmp.Or(e.Source.Host, e.ReportingInstance); host != "" {
		source += ", " + host
	}
	target := strings.TrimSuffix(strings.ToLower(e.InvolvedObject.Kind)+"/"+e.InvolvedObject.Name, "/")
	return []any{
		formatAge(last, now), e.Type, e.Reason, target, e.InvolvedObject.FieldPath, source,
		strings.TrimSpace(e.Message), formatAge(first, now), fmt.Sprint(max(e.Count, 1)), e.Name,
	}, nil
}

func nodeColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		newColumn("Name", nameMeaning, false),
		newColumn("Status", "Whether the node is ready.", false),
		newColumn("Roles", "The roles of the node.", false),
		newColumn("Age", ageMeaning, false),
		newColumn("Version", "The version of Kubernetes whose behaviour the node has.", false),
		newColumn("Internal-IP", "The address of the node within its network.", true),
		newColumn("External-IP", "The address of the node from elsewhere.", true),
		newColumn("OS-Image", "The operating system.", true),
		newColumn("Kernel-Version", "The kernel.", true),
		newColumn("Container-Runtime", "The container runtime.", true),
	}
}

// nodeRow returns the cells of a node as kubectl shows them, and no conditions.
func nodeRow(o object, now time.Time) ([]any, []metav1.TableRowCondition) {
	n := o.(*v1.Node)
	status, roles := "Unknown", []string{}
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != v1.NodeReady:
		case c.Status == v1.ConditionTrue:
			status = "Ready"
		default:
			status = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	for label := range n.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	info := n.Status.NodeInfo
	kernel := cmp.Or(info.KernelVersion, unknown)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		n.Name, status, cmp.Or(strings.Join(roles, ","), none), formatAge(n.CreationTimestamp, now), info.KubeletVersion,
		nodeAddress(n, v1.NodeInternalIP), nodeAddress(n, v1.NodeExternalIP), cmp.Or(info.OSImage, unknown),
		kernel, cmp.Or(info.ContainerRuntimeVersion, unknown),
	}, nil
}

// nodeAddress returns the first address of this type of a node, or <none>.
func nodeAddress(n *v1.Node, kind v1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return none
}

func leaseColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		newColumn("Name", nameMeaning, false), newColumn("Holder", "Who holds the lease.", false), newColumn("Age", ageMeaning, false),
	}
}

func leaseRow(o object, now time.Time) ([]any, []metav1.TableRowCondition) {
	l := o.(*coordinationv1.Lease)
	return []any{l.Name, *l.Spec.HolderIdentity, formatAge(l.CreationTimestamp, now)}, nil
}

func namespaceColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		newColumn("Name", nameMeaning, false), newColumn("Status", "The state of the namespace.", false), newColumn("Age", ageMeaning, false),
	}
}

func namespaceRow(o object, now time.Time) ([]any, []metav1.TableRowCondition) {
	ns := o.(*v1.Namespace)
	return []any{ns.Name, string(ns.Status.Phase), formatAge(ns.CreationTimestamp, now)}, nil
}
