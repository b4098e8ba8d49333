package apiservertest

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// customObject is an object of a custom resource.
type customObject struct {
	*unstructured.Unstructured
	resource *servedResource
}

// DeepCopyObject implements runtime.Object.
func (o customObject) DeepCopyObject() runtime.Object {
	return customObject{o.DeepCopy(), o.resource}
}

// restoreStatus sets the status to the status before, if the resource has the subresource status.
func (o customObject) restoreStatus(before customObject) {
	if !o.resource.hasStatus {
		return
	}
	o.copyField(before, "status")
}

// restoreAllButStatus sets everything but the status to its state before. The resource version stays, because it is
// the precondition of the update. The field managers stay, because some own fields of the status.
func (o customObject) restoreAllButStatus(before customObject) {
	version, managers := o.GetResourceVersion(), o.GetManagedFields()
	for field := range o.Object {
		if field != "status" {
			delete(o.Object, field)
		}
	}
	for field := range before.Object {
		if field != "status" {
			o.copyField(before, field)
		}
	}
	o.SetResourceVersion(version)
	o.SetManagedFields(managers)
}

// copyField copies a top-level field from the object before into o. It removes the field from o if before does not
// have it.
func (o customObject) copyField(before customObject, field string) {
	value, ok := before.Object[field]
	if !ok {
		delete(o.Object, field)
		return
	}
	o.Object[field] = runtime.DeepCopyJSONValue(value)
}

// hasOtherContentThan reports whether the objects differ in a field other than metadata and status. Such a change
// makes a new generation. Without the subresource status, a changed status does too.
func (o customObject) hasOtherContentThan(before customObject) bool {
	content := func(from customObject) map[string]any {
		out := map[string]any{}
		for field, value := range from.Object {
			if field != "metadata" && (field != "status" || !from.resource.hasStatus) {
				out[field] = value
			}
		}
		return out
	}
	return !equality.Semantic.DeepEqual(content(o), content(before))
}
