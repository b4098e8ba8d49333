package apiservertest

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Administrator is a client with all rights. The conformance suite needs one.
type Administrator interface {
	// Create creates an object and returns it. A pod with a node name is bound to the node; its status is dropped.
	Create(ctx context.Context, o Object) (Object, error)
	// Get returns the object of the kind, namespace and name of o.
	Get(ctx context.Context, o Object) (Object, error)
	// Update replaces all fields but the status. If the object has another resource version, the reason is Conflict.
	Update(ctx context.Context, o Object) (Object, error)
	// UpdateStatus replaces only the status.
	UpdateStatus(ctx context.Context, o Object) (Object, error)
	// Delete deletes the object of the kind, namespace and name of o. A UID in o is a precondition.
	Delete(ctx context.Context, o Object, gracePeriodSeconds *int64) error
}

// Admin implements Administrator and has more functions for tests. Faults do not affect its calls. The calls work while
// the server is down, never wait, and are not in Requests. A test may call them outside the simulation.
type Admin struct{ s *Server }

// Create implements Administrator.
func (a *Admin) Create(_ context.Context, o Object) (Object, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	o = o.DeepCopyObject().(Object)
	prepareNewObject(o)
	return storeCreated(a.s, o)
}

// prepareNewObject changes a new object as admission plug-ins do: it drops the status of a pod, sets the service
// account of a pod, and adds the not-ready taint to a node.
func prepareNewObject(o Object) {
	switch o := o.(type) {
	case *v1.Pod:
		o.Status = v1.PodStatus{}
		if o.Spec.ServiceAccountName == "" && !isMirror(o) {
			o.Spec.ServiceAccountName = "default"
		}
	case *v1.Node:
		addNotReadyTaint(o)
	}
}

// Get implements Administrator.
func (a *Admin) Get(_ context.Context, o Object) (Object, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	stored, err := a.s.storedObjectOrNotFoundLocked(keyOfObject(o))
	if err != nil {
		return nil, err
	}
	return stored.DeepCopyObject().(Object), nil
}

// Update implements Administrator.
func (a *Admin) Update(_ context.Context, o Object) (Object, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.updateObjectLocked(o, restoreStatus)
}

// UpdateStatus implements Administrator.
func (a *Admin) UpdateStatus(_ context.Context, o Object) (Object, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.updateObjectLocked(o, restoreSpec)
}

// restoreStatus sets the status of an updated object to its status before.
func restoreStatus(before, after Object) {
	switch after := after.(type) {
	case *v1.Pod:
		after.Status = *before.(*v1.Pod).Status.DeepCopy()
	case *v1.Node:
		after.Status = *before.(*v1.Node).Status.DeepCopy()
	case customObject:
		after.restoreStatus(before.(customObject))
	}
}

// restoreSpec sets everything but the status and the metadata of an updated object to its state before.
func restoreSpec(before, after Object) {
	switch after := after.(type) {
	case *v1.Pod:
		after.Spec = *before.(*v1.Pod).Spec.DeepCopy()
	case *v1.Node:
		after.Spec = *before.(*v1.Node).Spec.DeepCopy()
	case customObject:
		after.restoreAllButStatus(before.(customObject))
	}
}

// updateObjectLocked stores a copy of o in place of the stored object, and returns another copy. restoreFields first
// resets, in the copy, the fields that the request must not change. A bound pod cannot be moved to another
// node.
func (s *Server) updateObjectLocked(o Object, restoreFields func(before, after Object)) (Object, error) {
	before, err := s.storedObjectOrNotFoundLocked(keyOfObject(o))
	if err != nil {
		return nil, err
	}
	after := o.DeepCopyObject().(Object)
	restoreFields(before, after)
	if pod, ok := after.(*v1.Pod); ok {
		if was := before.(*v1.Pod).Spec.NodeName; was != "" && was != pod.Spec.NodeName {
			return nil, apierrors.NewBadRequest("a pod that is bound stays on its node")
		}
		out, err := s.updatePodLocked(before.(*v1.Pod), pod)
		if err != nil {
			return nil, err
		}
		return out.DeepCopy(), nil
	}
	return storeUpdatedOrRemove(s, before, after)
}

// Delete implements Administrator.
func (a *Admin) Delete(_ context.Context, o Object, gracePeriodSeconds *int64) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	stored, err := a.s.storedObjectOrNotFoundLocked(keyOfObject(o))
	if err != nil {
		return err
	}
	if pod, ok := stored.(*v1.Pod); ok {
		var uid *types.UID
		if given := o.GetUID(); given != "" {
			uid = &given
		}
		return a.s.deletePodLocked(pod, uid, gracePeriodSeconds, allowAll)
	}
	if uid := o.GetUID(); uid != "" && uid != stored.GetUID() {
		return apierrors.NewConflict(groupResource(resourceOf(o)), o.GetName(), fmt.Errorf("the UID in the precondition is another one"))
	}
	a.s.removeLocked(keyOfObject(stored))
	return nil
}

// Pod returns a pod, or nil if it does not exist.
func (a *Admin) Pod(namespace, name string) *v1.Pod {
	return storedCopy[v1.Pod](a.s, podKey(namespace, name))
}

// Pods returns all pods of a node, by name. An empty node selects the pods that are not bound.
func (a *Admin) Pods(node string) []*v1.Pod {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	var out []*v1.Pod
	for _, o := range a.s.listLocked("pods", func(o Object) bool { return o.(*v1.Pod).Spec.NodeName == node }) {
		out = append(out, o.(*v1.Pod).DeepCopy())
	}
	return out
}

// Node returns a node, or nil if it does not exist.
func (a *Admin) Node(name string) *v1.Node {
	return storedCopy[v1.Node](a.s, objectKey{"nodes", "", name})
}

// Events returns all events, by name.
func (a *Admin) Events() []*v1.Event {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	var out []*v1.Event
	for _, o := range a.s.listLocked("events", func(Object) bool { return true }) {
		out = append(out, o.(*v1.Event).DeepCopy())
	}
	return out
}

// storedCopy returns a copy of the stored object with this key, or nil if it does not exist.
func storedCopy[T any, P interface {
	*T
	Object
}](s *Server, k objectKey) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.mu.objects[k]
	if !ok {
		return nil
	}
	return (*T)(o.DeepCopyObject().(P))
}

// CreatePod creates a pod. It is bound if it has a node name.
func (a *Admin) CreatePod(pod *v1.Pod) (*v1.Pod, error) {
	o, err := a.Create(context.Background(), pod)
	if err != nil {
		return nil, err
	}
	return o.(*v1.Pod), nil
}

// EditPod changes a pod. edit may change everything but its identity, including the status.
func (a *Admin) EditPod(namespace, name string, edit func(*v1.Pod)) error {
	return editObject(a, podKey(namespace, name), edit)
}

// EditNode changes a node.
func (a *Admin) EditNode(name string, edit func(*v1.Node)) error {
	return editObject(a, objectKey{"nodes", "", name}, edit)
}

// DeletePod deletes a pod. A negative grace period means the pod's own, and zero removes the pod at once.
func (a *Admin) DeletePod(namespace, name string, graceSeconds int64) error {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = namespace, name
	if graceSeconds < 0 {
		return a.Delete(context.Background(), pod, nil)
	}
	return a.Delete(context.Background(), pod, &graceSeconds)
}

// DeleteNode deletes a node. Its pods stay, because no controller runs.
func (a *Admin) DeleteNode(name string) error {
	node := &v1.Node{}
	node.Name = name
	return a.Delete(context.Background(), node, nil)
}

// editObject changes a copy of a stored object with edit and stores the copy, without validating its content.
// It stores nothing if edit changes nothing, and returns NotFound if the object does not exist.
func editObject[T any, P interface {
	*T
	Object
}](a *Admin, k objectKey, edit func(*T)) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	before, err := a.s.storedObjectOrNotFoundLocked(k)
	if err != nil {
		return err
	}
	after := before.DeepCopyObject().(P)
	edit((*T)(after))
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	_, err = a.s.updateOrRemoveLocked(before, after)
	return err
}
