package apiservertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// Object is an API object: *v1.Pod, *v1.Node, *v1.Namespace, *v1.ConfigMap, *v1.Secret, *v1.Service,
// *v1.ServiceAccount, *v1.Event, *v1.PersistentVolumeClaim, *v1.PersistentVolume, *coordinationv1.Lease or
// *nodev1.RuntimeClass. Clients of RoundTripper also use the objects of Config.Resources.
type Object interface {
	metav1.Object
	runtime.Object
}

// objectKey is the key of a stored object.
type objectKey struct{ resource, namespace, name string }

func keyOfObject(o Object) objectKey { return objectKey{resourceOf(o), o.GetNamespace(), o.GetName()} }

// resourceOf returns the resource of an object, or an empty string if the server does not support its kind.
func resourceOf(o runtime.Object) string {
	switch o := o.(type) {
	case customObject:
		return o.resource.key
	case *v1.Pod:
		return "pods"
	case *v1.Node:
		return "nodes"
	case *v1.Namespace:
		return "namespaces"
	case *v1.ConfigMap:
		return "configmaps"
	case *v1.Secret:
		return "secrets"
	case *v1.Service:
		return "services"
	case *v1.ServiceAccount:
		return "serviceaccounts"
	case *v1.PersistentVolumeClaim:
		return "persistentvolumeclaims"
	case *v1.PersistentVolume:
		return "persistentvolumes"
	case *v1.Event:
		return "events"
	case *authenticationv1.TokenRequest:
		return "serviceaccounts/token"
	case *coordinationv1.Lease:
		return "leases"
	case *nodev1.RuntimeClass:
		return "runtimeclasses"
	}
	return ""
}

func isNamespaced(resource string) bool {
	return !slices.Contains([]string{"nodes", "namespaces", "runtimeclasses", "persistentvolumes"}, resource)
}

// isNamespacedObject reports whether an object belongs to a namespace.
func isNamespacedObject(o Object) bool {
	if custom, ok := o.(customObject); ok {
		return custom.resource.Namespaced
	}
	return isNamespaced(resourceOf(o))
}

// groupResource returns the API group and resource for errors. A subresource is cut off.
func groupResource(resource string) schema.GroupResource {
	resource, _, _ = strings.Cut(resource, "/")
	if plural, group, ok := strings.Cut(resource, "."); ok { // A custom resource.
		return schema.GroupResource{Group: group, Resource: plural}
	}
	switch resource {
	case "leases":
		return schema.GroupResource{Group: coordinationv1.GroupName, Resource: resource}
	case "runtimeclasses":
		return schema.GroupResource{Group: nodev1.GroupName, Resource: resource}
	}
	return schema.GroupResource{Resource: resource}
}

func newNamespace(name string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// change is an entry of the history.
type change struct {
	version       uint64
	key           objectKey
	before, after Object // before is nil for a creation, after for a removal
}

// eventFor returns the watch event of a change for a watch that selects some objects. An object that is
// selected only before the change is DELETED. ok is false if the object is selected neither before nor after.
func (c change) eventFor(selected func(Object) bool) (event watchEvent, ok bool) {
	before, after := c.before != nil && selected(c.before), c.after != nil && selected(c.after)
	e := watchEvent{version: c.version, object: c.after}
	switch {
	case before && after:
		e.kind = apiserver.Modified
	case after:
		e.kind = apiserver.Added
	case before:
		e.kind, e.object = apiserver.Deleted, withVersion(c.before, c.version)
	default:
		return watchEvent{}, false
	}
	return e, true
}

// withVersion returns a copy of an object with this resource version.
func withVersion(o Object, version uint64) Object {
	o = o.DeepCopyObject().(Object)
	o.SetResourceVersion(strconv.FormatUint(version, 10))
	return o
}

// appendAndQueueChangeLocked appends a change to the history and queues its event for each open stream that
// selects it.
func (s *Server) appendAndQueueChangeLocked(k objectKey, before, after Object) {
	c := change{s.mu.version, k, before, after}
	s.mu.history = append(s.mu.history, c)
	for _, w := range s.mu.streams {
		w.queueChangeIfSelected(c)
	}
}

// storedObjectOrNotFoundLocked returns the stored object itself, not a copy. The caller must not change the
// object. It returns a NotFound error if the object does not exist.
func (s *Server) storedObjectOrNotFoundLocked(k objectKey) (Object, error) {
	o, ok := s.mu.objects[k]
	if !ok {
		return nil, apierrors.NewNotFound(groupResource(k.resource), k.name)
	}
	return o, nil
}

// listLocked returns the selected objects of a resource, ordered by namespace and name. The caller must not
// change them.
func (s *Server) listLocked(resource string, selected func(Object) bool) []Object {
	var out []Object
	for k, o := range s.mu.objects {
		if k.resource == resource && selected(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b Object) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return out
}

// createLocked stores a new object with a UID, a creation time and defaults. It refuses an object that has a
// resource version, that exists, or whose namespace does not exist. The server keeps o itself, so the caller
// must not change it afterwards.
func (s *Server) createLocked(o Object) (Object, error) {
	if o.GetNamespace() == "" && isNamespacedObject(o) {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	k := keyOfObject(o)
	if k.resource == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is no object of this server", o))
	}
	if o.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if _, ok := s.mu.objects[objectKey{"namespaces", "", k.namespace}]; k.namespace != "" && !ok {
		return nil, apierrors.NewNotFound(groupResource("namespaces"), k.namespace)
	}
	if _, ok := s.mu.objects[k]; ok {
		return nil, apierrors.NewAlreadyExists(groupResource(k.resource), k.name)
	}
	o.SetUID(s.nextUIDLocked())
	o.SetCreationTimestamp(s.serverTime())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	switch o := o.(type) {
	case *v1.Pod:
		o.SetGeneration(1)
		setPodDefaults(o)
	case *v1.Node:
		setAllocatableIfEmpty(o)
	case customObject:
		o.SetGeneration(1)
	}
	s.storeLocked(k, nil, o)
	return o, nil
}

// storeLocked stores an object with the next resource version, and queues the change for the watch streams.
func (s *Server) storeLocked(k objectKey, before, after Object) {
	s.mu.version++
	after.SetResourceVersion(s.versionLocked())
	s.mu.objects[k] = after
	s.appendAndQueueChangeLocked(k, before, after)
}

// updateOrRemoveLocked checks the metadata of an updated object and stores the object, unless nothing has
// changed. A changed pod spec increments the generation. If the object is being deleted and has neither a grace
// period nor finalizers left, it is removed instead.
func (s *Server) updateOrRemoveLocked(before, after Object) (Object, error) {
	k := keyOfObject(before)
	if err := refuseConflictOrPreserveMetadata(before, after); err != nil {
		return nil, err
	}
	after.SetResourceVersion(before.GetResourceVersion())
	if equality.Semantic.DeepEqual(before, after) {
		return before, nil
	}
	if pod, ok := after.(*v1.Pod); ok && !equality.Semantic.DeepEqual(before.(*v1.Pod).Spec, pod.Spec) {
		pod.Generation++
	}
	if custom, ok := after.(customObject); ok && custom.hasOtherContentThan(before.(customObject)) {
		custom.SetGeneration(custom.GetGeneration() + 1)
	}
	if grace := after.GetDeletionGracePeriodSeconds(); after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && (grace == nil || *grace == 0) {
		s.removeLocked(k) // Watches do not show the update.
		return after, nil
	}
	s.storeLocked(k, before, after)
	return after, nil
}

// removeLocked removes an object and queues its DELETED event for the streams.
func (s *Server) removeLocked(k objectKey) {
	from := s.mu.objects[k]
	delete(s.mu.objects, k)
	s.mu.version++
	s.appendAndQueueChangeLocked(k, from, nil)
}

// refuseConflictOrPreserveMetadata returns an error for an update with another UID, another resource version,
// or a new finalizer on an object that is being deleted. For any other update it copies from before to after
// the metadata that an update must not change, such as the creation time, and returns nil.
func refuseConflictOrPreserveMetadata(before, after Object) error {
	resource := groupResource(resourceOf(before))
	if uid := after.GetUID(); uid != "" && uid != before.GetUID() {
		return apierrors.NewConflict(resource, before.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, before.GetUID()))
	}
	if version := after.GetResourceVersion(); version != "" && version != before.GetResourceVersion() {
		return apierrors.NewConflict(resource, before.GetName(),
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if added := sets.New(after.GetFinalizers()...).Difference(sets.New(before.GetFinalizers()...)); before.GetDeletionTimestamp() != nil && len(added) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: resource.Resource}, before.GetName(), field.ErrorList{
			field.Forbidden(field.NewPath("metadata", "finalizers"), "no new finalizers can be added if the object is being deleted")})
	}
	after.SetUID(before.GetUID())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetGeneration(before.GetGeneration())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	return nil
}
