package node

import (
	"errors"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// ErrFieldSelector is returned for a field selector with a field by which an API server does not select
// pods.
var ErrFieldSelector = errors.New("node: field label not supported")

// ListOptions select the pods that List and WatchFrom show. The zero value selects all pods.
type ListOptions struct {
	// Namespace selects the pods of a namespace. Empty selects all namespaces.
	Namespace string
	// LabelSelector selects pods by labels. Nil selects all pods.
	LabelSelector labels.Selector
	// FieldSelector selects pods by fields. Nil selects all pods. The fields are the selectable fields of an API
	// server: metadata.name, metadata.namespace, spec.nodeName (or spec.host), spec.restartPolicy,
	// spec.schedulerName, spec.serviceAccountName, spec.hostNetwork, status.phase, status.podIP,
	// status.podIPs and status.nominatedNodeName.
	FieldSelector fields.Selector
}

// newMatcher returns a function that reports whether a pod matches the namespace, the label selector and the
// field selector. The error wraps ErrFieldSelector for a field that the node cannot select by.
func (o ListOptions) newMatcher() (func(*v1.Pod) bool, error) {
	byLabel, byField := o.LabelSelector, o.FieldSelector
	if byLabel == nil {
		byLabel = labels.Everything()
	}
	if byField == nil {
		byField = fields.Everything()
	}
	byField, err := byField.Transform(transformField)
	if err != nil {
		return nil, err
	}
	return func(pod *v1.Pod) bool {
		return (o.Namespace == "" || pod.Namespace == o.Namespace) &&
			byLabel.Matches(labels.Set(pod.Labels)) && byField.Matches(podFields{pod})
	}, nil
}

// exactPodName returns the namespace and name of the only pod that the options can select. one is false if they
// can select several pods.
func (o ListOptions) exactPodName() (namespace, name string, one bool) {
	if o.FieldSelector == nil {
		return "", "", false
	}
	namespace = o.Namespace
	if namespace == "" {
		namespace, _ = o.FieldSelector.RequiresExactMatch("metadata.namespace")
	}
	name, one = o.FieldSelector.RequiresExactMatch("metadata.name")
	return namespace, name, one && namespace != ""
}

// transformField replaces the alias spec.host by spec.nodeName. It returns an ErrFieldSelector for a field that
// the node cannot select by.
func transformField(field, value string) (string, string, error) {
	if field == "spec.host" {
		field = "spec.nodeName"
	}
	if !(podFields{}).Has(field) {
		return "", "", fmt.Errorf("%w: %s", ErrFieldSelector, field)
	}
	return field, value, nil
}

// podFields are the fields of a pod that field selectors can use.
type podFields struct{ pod *v1.Pod }

// fieldValues read the fields of a pod.
var fieldValues = map[string]func(*v1.Pod) string{
	"metadata.name":            func(p *v1.Pod) string { return p.Name },
	"metadata.namespace":       func(p *v1.Pod) string { return p.Namespace },
	"spec.nodeName":            func(p *v1.Pod) string { return p.Spec.NodeName },
	"spec.restartPolicy":       func(p *v1.Pod) string { return string(p.Spec.RestartPolicy) },
	"spec.schedulerName":       func(p *v1.Pod) string { return p.Spec.SchedulerName },
	"spec.serviceAccountName":  func(p *v1.Pod) string { return p.Spec.ServiceAccountName },
	"spec.hostNetwork":         func(p *v1.Pod) string { return strconv.FormatBool(p.Spec.HostNetwork) },
	"status.phase":             func(p *v1.Pod) string { return string(p.Status.Phase) },
	"status.podIP":             firstPodIP,
	"status.podIPs":            firstPodIP,
	"status.nominatedNodeName": func(p *v1.Pod) string { return p.Status.NominatedNodeName },
}

// firstPodIP returns the first address in status.podIPs, or status.podIP if the list is empty. As at an API
// server, the field selector status.podIP compares only this address.
func firstPodIP(pod *v1.Pod) string {
	if len(pod.Status.PodIPs) > 0 {
		return pod.Status.PodIPs[0].IP
	}
	return pod.Status.PodIP
}

// Has implements fields.Fields.
func (podFields) Has(field string) bool { return fieldValues[field] != nil }

// Get implements fields.Fields.
func (f podFields) Get(field string) string { return fieldValues[field](f.pod) }
