package localapi

import (
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a resource that the API serves, with its objects.
type resource struct {
	metav1.APIResource
	groupVersion schema.GroupVersion
	*cache
	subresources []metav1.APIResource
	columns      []metav1.TableColumnDefinition
	// row returns the Table cells of an object.
	row func(o object, now time.Time) (cells []any, conditions []metav1.TableRowCondition)
	// fields returns the values that a field selector can match.
	fields func(o object) fields.Set
	// convert converts a stored object to the object that clients receive.
	convert func(o object) k8sruntime.Object
}

// groupResource returns the GroupResource for errors.
func (r *resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.groupVersion.Group, Resource: r.Name}
}

// returnUnchanged returns the object unchanged. It is the conversion of resources that need none.
func returnUnchanged(o object) k8sruntime.Object { return o }

// withKind sets the API version v1 and the kind of an object, and returns the object.
func withKind[T k8sruntime.Object](o T, kind string) T {
	o.GetObjectKind().SetGroupVersionKind(v1.SchemeGroupVersion.WithKind(kind))
	return o
}

var (
	readVerbs     = metav1.Verbs{"get", "list", "watch"}
	podWriteVerbs = metav1.Verbs{"create", "delete", "deletecollection", "patch", "update"}
)

// newResources returns all resources that the API serves, by GroupResource. Without Config.Writer the pods have
// no write verbs.
func (b *backend) newResources(firstVersion uint64) map[string]*resource {
	pods := &resource{
		groupVersion: v1.SchemeGroupVersion, cache: newCache(firstVersion),
		APIResource: metav1.APIResource{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", Verbs: readVerbs, ShortNames: []string{"po"}, Categories: []string{"all"}},
		columns:     podColumns(), row: podRow, fields: podFields, convert: returnUnchanged,
		subresources: []metav1.APIResource{
			{Name: "pods/attach", Namespaced: true, Kind: "PodAttachOptions", Verbs: metav1.Verbs{"create", "get"}},
			{Name: "pods/exec", Namespaced: true, Kind: "PodExecOptions", Verbs: metav1.Verbs{"create", "get"}},
			{Name: "pods/log", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get"}},
			{Name: "pods/portforward", Namespaced: true, Kind: "PodPortForwardOptions", Verbs: metav1.Verbs{"create", "get"}},
		},
	}
	events := &resource{
		groupVersion: v1.SchemeGroupVersion, cache: newCache(firstVersion),
		APIResource: metav1.APIResource{Name: "events", SingularName: "event", Namespaced: true, Kind: "Event", Verbs: readVerbs, ShortNames: []string{"ev"}},
		columns:     eventColumns(), row: eventRow, fields: eventFields, convert: returnUnchanged,
	}
	nodes := &resource{
		groupVersion: v1.SchemeGroupVersion, cache: newCache(firstVersion),
		APIResource: metav1.APIResource{Name: "nodes", SingularName: "node", Kind: "Node", Verbs: readVerbs, ShortNames: []string{"no"}},
		columns:     nodeColumns(), row: nodeRow, convert: returnUnchanged, fields: func(o object) fields.Set {
			return fields.Set{"metadata.name": o.GetName(), "spec.unschedulable": strconv.FormatBool(o.(*v1.Node).Spec.Unschedulable)}
		},
	}
	namespaces := &resource{
		groupVersion: v1.SchemeGroupVersion, cache: newCache(firstVersion),
		APIResource: metav1.APIResource{Name: "namespaces", SingularName: "namespace", Kind: "Namespace", Verbs: readVerbs, ShortNames: []string{"ns"}},
		columns:     namespaceColumns(), row: namespaceRow, convert: returnUnchanged, fields: func(o object) fields.Set {
			return fields.Set{"metadata.name": o.GetName(), "status.phase": string(o.(*v1.Namespace).Status.Phase)}
		},
	}
	leases := &resource{
		groupVersion: coordinationv1.SchemeGroupVersion, cache: newCache(firstVersion),
		APIResource: metav1.APIResource{Name: "leases", SingularName: "lease", Namespaced: true, Kind: "Lease", Verbs: readVerbs},
		columns:     leaseColumns(), row: leaseRow, convert: returnUnchanged, fields: func(o object) fields.Set {
			return fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
		},
	}
	if b.config.Events != nil {
		events.cache = b.config.Events.cache
	}
	newer := *events
	newer.groupVersion, newer.fields, newer.convert = eventsGroupVersion, eventsV1Fields, toEventsV1
	all := map[string]*resource{}
	for _, r := range []*resource{pods, events, nodes, namespaces, leases, &newer} {
		all[r.groupResource().String()] = r
	}
	status := metav1.APIResource{Name: "pods/" + statusSubresource, Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get"}}
	if b.config.Writer != nil {
		pods.Verbs = slices.Sorted(slices.Values(slices.Concat(readVerbs, podWriteVerbs)))
		status.Verbs = metav1.Verbs{"get", "patch", "update"}
		pods.subresources = append(pods.subresources,
			metav1.APIResource{Name: "pods/" + ephemeralSubresource, Namespaced: true, Kind: "Pod", Verbs: status.Verbs},
			metav1.APIResource{Name: "pods/" + evictionSubresource, Namespaced: true, Group: evictionKind.Group, Version: evictionKind.Version, Kind: evictionKind.Kind, Verbs: metav1.Verbs{"create"}},
			metav1.APIResource{Name: "pods/" + resizeSubresource, Namespaced: true, Kind: "Pod", Verbs: status.Verbs})
	}
	pods.subresources = append(pods.subresources, status)
	return all
}

// podFields returns the values of a pod's fields that a field selector can use, as in an API server.
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

// eventFields returns the values of an event's fields that a field selector can use, as in an API server.
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
