package apiservertest

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// servedResource is a resource that clients of RoundTripper use.
type servedResource struct {
	metav1.APIResource
	key       string // of an objectKey
	hasStatus bool   // whether it has the subresource status
	newObject func() Object
	newTyped  func() runtime.Object // nil for a kind without a Go type
}

// groupVersionKind returns the kind of the resource.
func (r *servedResource) groupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

// isCustom reports whether the resource is in Config.Resources. The server stores its objects as JSON values.
func (r *servedResource) isCustom() bool { return r.key != r.Name }

// objectVerbs are the verbs of each resource.
var objectVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// newServedResources returns the resources of the server: those with a Go type, and the custom ones.
func newServedResources(custom []metav1.APIResource) []*servedResource {
	builtin := func(version schema.GroupVersion, name, kind string, hasStatus bool, newObject func() Object) *servedResource {
		return &servedResource{
			APIResource: metav1.APIResource{Group: version.Group, Version: version.Version, Name: name, Kind: kind, Namespaced: isNamespaced(name), Verbs: objectVerbs},
			key:         name, hasStatus: hasStatus, newObject: newObject, newTyped: func() runtime.Object { return newObject() },
		}
	}
	core := v1.SchemeGroupVersion
	all := []*servedResource{
		builtin(core, "pods", "Pod", true, func() Object { return &v1.Pod{} }),
		builtin(core, "nodes", "Node", true, func() Object { return &v1.Node{} }),
		builtin(core, "namespaces", "Namespace", false, func() Object { return &v1.Namespace{} }),
		builtin(core, "configmaps", "ConfigMap", false, func() Object { return &v1.ConfigMap{} }),
		builtin(core, "secrets", "Secret", false, func() Object { return &v1.Secret{} }),
		builtin(core, "services", "Service", false, func() Object { return &v1.Service{} }),
		builtin(core, "serviceaccounts", "ServiceAccount", false, func() Object { return &v1.ServiceAccount{} }),
		builtin(core, "events", "Event", false, func() Object { return &v1.Event{} }),
		builtin(eventsv1.SchemeGroupVersion, "events", "Event", false, func() Object { return &v1.Event{} }),
		builtin(core, "persistentvolumeclaims", "PersistentVolumeClaim", false, func() Object { return &v1.PersistentVolumeClaim{} }),
		builtin(core, "persistentvolumes", "PersistentVolume", false, func() Object { return &v1.PersistentVolume{} }),
		builtin(coordinationv1.SchemeGroupVersion, "leases", "Lease", false, func() Object { return &coordinationv1.Lease{} }),
		builtin(nodev1.SchemeGroupVersion, "runtimeclasses", "RuntimeClass", false, func() Object { return &nodev1.RuntimeClass{} }),
	}
	scheme := runtime.NewScheme()
	if len(custom) > 0 {
		utilruntime.Must(kubernetesTypes.AddToScheme(scheme)) // It fails only for conflicting types.
	}
	for _, c := range custom {
		if slices.ContainsFunc(all, func(r *servedResource) bool { return r.Group == c.Group && r.Version == c.Version && r.Name == c.Name }) {
			continue // The server has it in any case.
		}
		r := &servedResource{APIResource: c, key: c.Name + "." + c.Group, hasStatus: slices.Contains(c.Verbs, "status")}
		r.newTyped = typedConstructor(scheme, r.groupVersionKind())
		r.Verbs = objectVerbs
		r.newObject = func() Object { return customObject{&unstructured.Unstructured{Object: map[string]any{}}, r} }
		all = append(all, r)
	}
	for _, r := range all {
		if r.isEventsV1() {
			r.newTyped = func() runtime.Object { return r.newServed() }
		}
	}
	return all
}

// findServed returns the resource of a group and version with this plural, or nil.
func (s *Server) findServed(version schema.GroupVersion, name string) *servedResource {
	for _, r := range s.served {
		if r.Group == version.Group && r.Version == version.Version && r.Name == name {
			return r
		}
	}
	return nil
}

// fieldsOf returns the fields of an object for field selectors.
func fieldsOf(o Object) fields.Set {
	set := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	switch o := o.(type) {
	case *v1.Pod:
		set["spec.nodeName"], set["status.phase"] = o.Spec.NodeName, string(o.Status.Phase)
		set["spec.restartPolicy"], set["spec.schedulerName"] = string(o.Spec.RestartPolicy), o.Spec.SchedulerName
	case *v1.Event:
		set["involvedObject.kind"], set["involvedObject.name"] = o.InvolvedObject.Kind, o.InvolvedObject.Name
		set["involvedObject.namespace"], set["involvedObject.uid"], set["reason"] = o.InvolvedObject.Namespace, string(o.InvolvedObject.UID), o.Reason
	}
	return set
}

// resourceLists returns the discovery of each group and version, the core group first.
func (s *Server) resourceLists() []*metav1.APIResourceList {
	var lists []*metav1.APIResourceList
	for _, r := range s.served {
		version := schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
		i := slices.IndexFunc(lists, func(l *metav1.APIResourceList) bool { return l.GroupVersion == version })
		if i < 0 {
			i = len(lists)
			lists = append(lists, &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version})
		}
		lists[i].APIResources = append(lists[i].APIResources, r.APIResource)
		if r.hasStatus {
			lists[i].APIResources = append(lists[i].APIResources, metav1.APIResource{Name: r.Name + "/status", Kind: r.Kind, Namespaced: r.Namespaced, Verbs: metav1.Verbs{"get", "patch", "update"}})
		}
		if r.key == "pods" {
			lists[i].APIResources = append(lists[i].APIResources,
				metav1.APIResource{Name: "pods/binding", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
				metav1.APIResource{Name: "pods/eviction", Group: "policy", Version: "v1", Kind: "Eviction", Namespaced: true, Verbs: metav1.Verbs{"create"}})
		}
	}
	return lists
}
