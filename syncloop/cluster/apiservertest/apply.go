package apiservertest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/podkeel/podkeel/internal/document"
)

// maxAppliedMemory bounds the memory of an applied configuration, because aliases of YAML can repeat its parts.
const maxAppliedMemory = 16 << 20

// serveApply serves server-side apply: it merges an applied configuration into an object or its status, or creates the
// object. The query has the field manager, and whether to force. Another manager's field is a conflict.
func (h *httpRequest) serveApply(patch []byte) error {
	manager, err := h.newFieldManager()
	if err != nil {
		return err
	}
	owner := h.URL.Query().Get("fieldManager")
	if owner == "" {
		return apierrors.NewBadRequest("fieldManager is required for apply patch")
	}
	applied, err := h.decodeApplied(patch)
	if err != nil {
		return err
	}
	r := h.newRequest("patch")
	r.Body, r.Keys = patch, patchFieldPaths(patch)
	type result struct {
		object Object
		code   int
	}
	out, err := doRequest(h.Context(), h.c, r, func() (result, error) {
		before, err := h.s.storedObjectOrNotFoundLocked(h.objectKey())
		creates := apierrors.IsNotFound(err) && h.subresource == ""
		if err != nil && !creates {
			return result{}, err
		}
		if creates {
			before = h.resource.newObject()
			before.GetObjectKind().SetGroupVersionKind(h.resource.groupVersionKind())
		}
		after, err := h.mergeApplied(manager, before, applied, owner)
		if err != nil {
			return result{}, err
		}
		if creates {
			after, err = h.createAppliedLocked(after)
			return result{after, http.StatusCreated}, err
		}
		after, err = h.s.updateObjectLocked(after, h.restoreFields())
		return result{after, http.StatusOK}, err
	})
	if err != nil {
		return err
	}
	return h.sendObject(out.code, out.object)
}

// decodeApplied decodes an applied configuration from YAML or JSON. Its name and namespace default to the ones in the
// path.
func (h *httpRequest) decodeApplied(patch []byte) (*unstructured.Unstructured, error) {
	applied := &unstructured.Unstructured{}
	text, _, faults := document.JSON(patch, document.Bounds{Bytes: maxBodyBytes, Memory: maxAppliedMemory})
	if len(faults) > 0 {
		return nil, apierrors.NewBadRequest("the applied configuration cannot be read: " + faults.Error())
	}
	if err := applied.UnmarshalJSON(text); err != nil {
		return nil, apierrors.NewBadRequest("the applied configuration cannot be read: " + err.Error())
	}
	if applied.GetName() == "" {
		applied.SetName(h.name)
	}
	if applied.GetNamespace() == "" && h.namespace != "" {
		applied.SetNamespace(h.namespace)
	}
	return applied, nil
}

// mergeApplied returns an object after the field manager owner has applied a configuration to it. It returns a Conflict
// error if the configuration changes a field of another manager, unless the request has force.
func (h *httpRequest) mergeApplied(manager *managedfields.FieldManager, before Object, applied *unstructured.Unstructured, owner string) (Object, error) {
	live, err := h.toUnstructured(before)
	if err != nil {
		return nil, err
	}
	merged, err := manager.Apply(live, applied.DeepCopy(), owner, h.URL.Query().Get("force") == "true")
	var refusal apierrors.APIStatus
	switch {
	case errors.As(err, &refusal):
		return nil, err
	case err != nil:
		return nil, apierrors.NewBadRequest("the applied configuration cannot be merged: " + err.Error())
	}
	return h.fromUnstructured(merged)
}

// createAppliedLocked stores a new object that results from an applied configuration.
func (h *httpRequest) createAppliedLocked(o Object) (Object, error) {
	if o.GetUID() != "" {
		return nil, apierrors.NewConflict(groupResource(h.resource.key), h.name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", o.GetUID()))
	}
	return h.prepareAndStoreLocked(o)
}

// recordFieldOwner returns an updated object whose changed fields belong to the field manager of the request. The query
// or else the user agent names the manager. An object that was never applied has no field managers, and is returned
// unchanged.
func (h *httpRequest) recordFieldOwner(before, after Object) (Object, error) {
	if len(before.GetManagedFields()) == 0 {
		return after, nil
	}
	manager, err := h.newFieldManager()
	if err != nil {
		return after, nil // Without a schema the owners stay as they are.
	}
	owner := h.URL.Query().Get("fieldManager")
	if owner == "" {
		owner, _, _ = strings.Cut(h.UserAgent(), "/")
	}
	live, err := h.toUnstructured(before)
	if err != nil {
		return nil, err
	}
	updated, err := h.toUnstructured(after)
	if err != nil {
		return nil, err
	}
	return h.fromUnstructured(manager.UpdateNoErrors(live, updated, owner))
}

// newFieldManager returns the field manager of the resource or its status. It returns an error for a resource with a Go
// type if Config has no TypeConverter, because the type defines how its lists are merged.
func (h *httpRequest) newFieldManager() (*managedfields.FieldManager, error) {
	converter := managedfields.NewDeducedTypeConverter()
	if h.resource.newTyped != nil {
		if converter = h.s.config.TypeConverter; converter == nil {
			return nil, h.newUnsupportedTypeError(fmt.Sprintf("package apiservertest applies %s only if Config.TypeConverter is set: use NewTypeConverter of k8s.io/client-go/applyconfigurations, or another patch", h.resource.Name))
		}
	}
	var ignored *fieldpath.Set
	switch {
	case h.subresource == "status":
		ignored = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	case h.resource.hasStatus:
		ignored = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	kind := h.resource.groupVersionKind()
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	if ignored != nil {
		filters[fieldpath.APIVersion(kind.GroupVersion().String())] = fieldpath.NewExcludeSetFilter(ignored)
	}
	var objects unstructuredObjects
	manager, err := managedfields.NewDefaultFieldManager(converter, objects, objects, objects, kind, kind.GroupVersion(), h.subresource, filters)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return manager, nil
}

// newUnsupportedTypeError returns the error for a request whose content type the server cannot read.
func (h *httpRequest) newUnsupportedTypeError(message string) error {
	refusal := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, strings.ToLower(h.Method), groupResource(h.resource.key), h.name, "", 0, false)
	refusal.ErrStatus.Message = message
	return refusal
}

// toUnstructured returns a copy of an object with its kind as JSON values.
func (h *httpRequest) toUnstructured(o Object) (*unstructured.Unstructured, error) {
	if custom, ok := o.(customObject); ok {
		return custom.DeepCopy(), nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	out := &unstructured.Unstructured{Object: fields}
	out.SetGroupVersionKind(h.resource.groupVersionKind())
	return out, nil
}

// fromUnstructured returns the object with these JSON values. It returns an error if the name or namespace does not
// match the path.
func (h *httpRequest) fromUnstructured(o runtime.Object) (Object, error) {
	text, err := o.(*unstructured.Unstructured).MarshalJSON()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return h.decodeNamed(text)
}

// unstructuredObjects is the scheme of a field manager for objects of one version: it converts nothing and has no
// defaults.
type unstructuredObjects struct{}

// New implements runtime.ObjectCreater.
func (unstructuredObjects) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o, nil
}

// Default implements runtime.ObjectDefaulter.
func (unstructuredObjects) Default(runtime.Object) {}

// ConvertToVersion implements runtime.ObjectConvertor.
func (unstructuredObjects) ConvertToVersion(o runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return o, nil
}

// Convert implements runtime.ObjectConvertor. A field manager does not call it.
func (unstructuredObjects) Convert(_, _, _ any) error { return errors.ErrUnsupported }

// ConvertFieldLabel implements runtime.ObjectConvertor. A field manager does not call it.
func (unstructuredObjects) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
