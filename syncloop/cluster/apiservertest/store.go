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

// Object is an object of the API: *v1.Pod, *v1.Node, *v1.Namespace, *v1.ConfigMap,
// *v1.Secret, *v1.Service, *v1.ServiceAccount, *v1.Event,
// *v1.PersistentVolumeClaim, *v1.PersistentVolume, *coordinationv1.Lease or
// *nodev1.RuntimeClass.
type Object interface {
	metav1.Object
	runtime.Object
}

// objectKey is where an object is stored.
type objectKey struct{ resource, namespace, name string }

func keyOfObject(o Object) objectKey { return objectKey{resourceOf(o), o.GetNamespace(), o.GetName()} }

// resourceOf is the resource of an object; empty for one that the server has not.
func resourceOf(o runtime.Object) string {
	switch o.(type) {
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

// groupResource is what errors name.
func groupResource(resource string) schema.GroupResource {
	resource, _, _ = strings.Cut(resource, "/")
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

// change is an element of the history.
type change struct {
	version  uint64
	key      objectKey
	from, to Object // nil: it was created, or is gone
}

// eventFor is the change as a selection shows it; false if it shows nothing.
func (c change) eventFor(selected func(Object) bool) (watchEvent, bool) {
	before, after := c.from != nil && selected(c.from), c.to != nil && selected(c.to)
	e := watchEvent{version: c.version, object: c.to}
	switch {
	case before && after:
		e.kind = apiserver.Modified
	case after:
		e.kind = apiserver.Added
	case before:
		e.kind, e.object = apiserver.Deleted, withVersion(c.from, c.version)
	default:
		return watchEvent{}, false
	}
	return e, true
}

// withVersion is a copy that bears a version.
func withVersion(o Object, version uint64) Object {
	o = o.DeepCopyObject().(Object)
	o.SetResourceVersion(strconv.FormatUint(version, 10))
	return o
}

// appendChangeLocked makes a change known.
func (s *Server) appendChangeLocked(k objectKey, from, to Object) {
	c := change{s.mu.version, k, from, to}
	s.mu.history = append(s.mu.history, c)
	for _, w := range s.mu.streams {
		w.queueChange(c)
	}
}

// getLocked is the stored object, which must not be changed.
func (s *Server) getLocked(k objectKey) (Object, error) {
	o, ok := s.mu.objects[k]
	if !ok {
		return nil, apierrors.NewNotFound(groupResource(k.resource), k.name)
	}
	return o, nil
}

// listLocked are the stored objects of a resource, by name.
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

// createLocked stores a new object, which becomes the server's.
func (s *Server) createLocked(o Object) (Object, error) {
	if resource := resourceOf(o); o.GetNamespace() == "" && isNamespaced(resource) {
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
	o.SetCreationTimestamp(s.now())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	switch o := o.(type) {
	case *v1.Pod:
		o.SetGeneration(1)
		setPodDefaults(o)
	case *v1.Node:
		allocateCapacity(o)
	}
	s.storeLocked(k, nil, o)
	return o, nil
}

// storeLocked gives the object the next version and stores it.
func (s *Server) storeLocked(k objectKey, from, to Object) {
	s.mu.version++
	to.SetResourceVersion(s.versionLocked())
	s.mu.objects[k] = to
	s.appendChangeLocked(k, from, to)
}

// updateLocked stores what has become of an object, unless nothing has changed. Without
// finalizers an object whose grace is over goes.
func (s *Server) updateLocked(from, to Object) (Object, error) {
	k := keyOfObject(from)
	if err := preserveMetadata(from, to); err != nil {
		return nil, err
	}
	to.SetResourceVersion(from.GetResourceVersion())
	if equality.Semantic.DeepEqual(from, to) {
		return from, nil
	}
	if pod, ok := to.(*v1.Pod); ok && !equality.Semantic.DeepEqual(from.(*v1.Pod).Spec, pod.Spec) {
		pod.Generation++
	}
	if grace := to.GetDeletionGracePeriodSeconds(); to.GetDeletionTimestamp() != nil && len(to.GetFinalizers()) == 0 && (grace == nil || *grace == 0) {
		s.removeLocked(k) // The update itself is not shown.
		return to, nil
	}
	s.storeLocked(k, from, to)
	return to, nil
}

// removeLocked takes an object away.
func (s *Server) removeLocked(k objectKey) {
	from := s.mu.objects[k]
	delete(s.mu.objects, k)
	s.mu.version++
	s.appendChangeLocked(k, from, nil)
}

// preserveMetadata restores what no update changes, and refuses an update of another
// incarnation or of an older version.
func preserveMetadata(from, to Object) error {
	resource := groupResource(resourceOf(from))
	if uid := to.GetUID(); uid != "" && uid != from.GetUID() {
		return apierrors.NewConflict(resource, from.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, from.GetUID()))
	}
	if version := to.GetResourceVersion(); version != "" && version != from.GetResourceVersion() {
		return apierrors.NewConflict(resource, from.GetName(),
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if added := sets.New(to.GetFinalizers()...).Difference(sets.New(from.GetFinalizers()...)); from.GetDeletionTimestamp() != nil && len(added) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: resource.Resource}, from.GetName(), field.ErrorList{
			field.Forbidden(field.NewPath("metadata", "finalizers"), "no new finalizers can be added if the object is being deleted")})
	}
	to.SetUID(from.GetUID())
	to.SetCreationTimestamp(from.GetCreationTimestamp())
	to.SetGeneration(from.GetGeneration())
	to.SetDeletionTimestamp(from.GetDeletionTimestamp())
	to.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
	return nil
}
