package localapi

import (
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a kind of objects of the group "" that is served.
type resource struct {
	metav1.APIResource
	*cache
	subresources []metav1.APIResource
	columns      []metav1.TableColumnDefinition
	// row is the cells of an object's row.
	row func(o object, now time.Time) (cells []any, conditions []metav1.TableRowCondition)
	// fields are what a field selector may ask for.
	fields func(o object) fields.Set
}

// group is the GroupResource of errors.
func (r *resource) group() schema.GroupResource { return schema.GroupResource{Resource: r.Name} }

// kinded gives an object the kind that it is shown with.
func kinded[T k8sruntime.Object](o T, kind string) T {
	o.GetObjectKind().SetGroupVersionKind(v1.SchemeGroupVersion.WithKind(kind))
	return o
}

var readVerbs = metav1.Verbs{"get", "list", "watch"}

// resources are all that are served, by name.
func (a *API) resources(first uint64) map[string]*resource {
	pods := &resource{
		APIResource: metav1.APIResource{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", ShortNames: []string{"po"}, Categories: []string{"all"}},
		columns:     podColumns(), row: podRow, fields: podFields,
		subresources: []metav1.APIResource{
			{Name: "pods/attach", Namespaced: true, Kind: "PodAttachOptions", Verbs: metav1.Verbs{"create", "get"}},
			{Name: "pods/exec", Namespaced: true, Kind: "PodExecOptions", Verbs: metav1.Verbs{"create", "get"}},
			{Name: "pods/log", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get"}},
			{Name: "pods/portforward", Namespaced: true, Kind: "PodPortForwardOptions", Verbs: metav1.Verbs{"create", "get"}},
			{Name: "pods/status", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get"}},
		},
	}
	events := &resource{
		APIResource: metav1.APIResource{Name: "events", SingularName: "event", Namespaced: true, Kind: "Event", ShortNames: []string{"ev"}},
		columns:     eventColumns(), row: eventRow, fields: eventFields,
	}
	nodes := &resource{
		APIResource: metav1.APIResource{Name: "nodes", SingularName: "node", Kind: "Node", ShortNames: []string{"no"}},
		columns:     nodeColumns(), row: nodeRow, fields: func(o object) fields.Set {
			return fields.Set{"metadata.name": o.GetName(), "spec.unschedulable": strconv.FormatBool(o.(*v1.Node).Spec.Unschedulable)}
		},
	}
	namespaces := &resource{
		APIResource: metav1.APIResource{Name: "namespaces", SingularName: "namespace", Kind: "Namespace", ShortNames: []string{"ns"}},
		columns:     namespaceColumns(), row: namespaceRow, fields: func(o object) fields.Set {
			return fields.Set{"metadata.name": o.GetName(), "status.phase": string(o.(*v1.Namespace).Status.Phase)}
		},
	}
	all := map[string]*resource{}
	for _, r := range []*resource{pods, events, nodes, namespaces} {
		r.Verbs, r.cache = readVerbs, newCache(first)
		all[r.Name] = r
	}
	if a.config.Writer != nil {
		pods.Verbs = metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
		pods.subresources = append(pods.subresources, metav1.APIResource{Name: "pods/" + ephemeral, Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get", "patch", "update"}})
	}
	return all
}

// podFields are the fields by which a real server selects pods.
func podFields(o object) fields.Set {
	pod := o.(*v1.Pod)
	ip := ""
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return fields.Set{
		"metadata.name": pod.Name, "metadata.namespace": pod.Namespace,
		"spec.nodeName": pod.Spec.NodeName, "spec.restartPolicy": string(pod.Spec.RestartPolicy), "spec.schedulerName": pod.Spec.SchedulerName,
		"spec.serviceAccountName": pod.Spec.ServiceAccountName, "spec.hostNetwork": strconv.FormatBool(pod.Spec.HostNetwork),
		"status.phase": string(pod.Status.Phase), "status.podIP": ip, "status.podIPs": ip, "status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}

// eventFields are the fields by which a real server selects events.
func eventFields(o object) fields.Set {
	e := o.(*v1.Event)
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return fields.Set{
		"metadata.name": e.Name, "metadata.namespace": e.Namespace,
		"involvedObject.kind": e.InvolvedObject.Kind, "involvedObject.namespace": e.InvolvedObject.Namespace, "involvedObject.name": e.InvolvedObject.Name,
		"involvedObject.uid": string(e.InvolvedObject.UID), "involvedObject.apiVersion": e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion, "involvedObject.fieldPath": e.InvolvedObject.FieldPath,
		"reason": e.Reason, "reportingComponent": e.ReportingController, "source": source, "type": e.Type,
	}
}
