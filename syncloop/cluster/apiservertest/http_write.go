package apiservertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// maxBodyBytes bounds the body of a request, as an API server does.
const maxBodyBytes = 3 << 20

// readBody reads the body of the request.
func (h *httpRequest) readBody() ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(h.w, h.Body, maxBodyBytes))
	if err != nil {
		return nil, apierrors.NewBadRequest("the body cannot be read: " + err.Error())
	}
	return text, nil
}

// protobufPrefix is the beginning of every object that Kubernetes encodes in protobuf.
var protobufPrefix = []byte("k8s\x00")

// decodeBody decodes the body of the request, which is JSON or protobuf. An empty body leaves the object unchanged.
func (h *httpRequest) decodeBody(into any) error {
	text, err := h.readBody()
	if err != nil || len(text) == 0 {
		return err
	}
	return decodeObject(text, into)
}

// decodeObject decodes an object from JSON or protobuf.
func decodeObject(text []byte, into any) (err error) {
	if raw, ok := bytes.CutPrefix(text, protobufPrefix); ok {
		message, isMessage := into.(interface{ Unmarshal([]byte) error })
		var envelope runtime.Unknown
		if err = envelope.Unmarshal(raw); err == nil && isMessage {
			err = message.Unmarshal(envelope.Raw)
		}
	} else {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return apierrors.NewBadRequest("the body cannot be read: " + err.Error())
	}
	return nil
}

// decodeNamed decodes an object from JSON or protobuf. It sets the namespace of the path, and returns an error for
// another namespace, name or kind.
func (h *httpRequest) decodeNamed(text []byte) (Object, error) {
	o := h.resource.newServed()
	var err error
	switch custom, isCustom := o.(customObject); {
	case isCustom && bytes.HasPrefix(text, protobufPrefix):
		err = h.decodeCustomProtobuf(text, custom)
	case isCustom:
		err = decodeObject(text, custom.Unstructured)
	default:
		err = decodeObject(text, o)
	}
	if err != nil {
		return nil, err
	}
	if kind := o.GetObjectKind().GroupVersionKind(); kind.Kind != "" && kind != h.resource.groupVersionKind() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object is a %s: expected a %s", kind.Kind, h.resource.Kind))
	}
	if h.resource.isCustom() {
		o.GetObjectKind().SetGroupVersionKind(h.resource.groupVersionKind())
	} else {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // Objects with a Go type are stored without kind.
	}
	if h.resource.Namespaced && o.GetNamespace() == "" {
		o.SetNamespace(h.namespace)
	}
	if o.GetNamespace() != h.namespace || h.name != "" && o.GetName() != h.name {
		return nil, apierrors.NewBadRequest("the name or namespace of the object does not match the URL")
	}
	return h.resource.toStored(o), nil
}

// serveCreate creates an object. A generated name has a counter, so that tests are repeatable.
func (h *httpRequest) serveCreate() error {
	text, err := h.readBody()
	if err != nil {
		return err
	}
	o, err := h.decodeNamed(text)
	if err != nil {
		return err
	}
	r := h.newRequest("create")
	r.Name = o.GetName()
	out, err := doRequest(h.Context(), h.c, r, func() (Object, error) {
		if o.GetName() == "" && o.GetGenerateName() != "" {
			o.SetName(o.GetGenerateName() + h.s.nextNameSuffixLocked())
		}
		if o.GetName() == "" {
			return nil, apierrors.NewBadRequest("metadata.name or metadata.generateName is required")
		}
		return h.prepareAndStoreLocked(o)
	})
	if err != nil {
		return err
	}
	return h.sendObject(http.StatusCreated, out)
}

// prepareAndStoreLocked stores a new object without the status that the client has sent.
func (h *httpRequest) prepareAndStoreLocked(o Object) (Object, error) {
	prepareNewObject(o)
	if custom, ok := o.(customObject); ok && h.resource.hasStatus {
		delete(custom.Object, "status")
	}
	return storeCreated(h.s, o)
}

// nextNameSuffixLocked returns five digits that no earlier call has returned.
func (s *Server) nextNameSuffixLocked() string {
	s.mu.names++
	return fmt.Sprintf("%05d", s.mu.names)
}

// restoreFields returns the function that resets, in an update, the fields that the request must not change.
func (h *httpRequest) restoreFields() func(before, after Object) {
	if h.subresource == "status" {
		return restoreSpec
	}
	return restoreStatus
}

// serveUpdate replaces an object or its status.
func (h *httpRequest) serveUpdate() error {
	text, err := h.readBody()
	if err != nil {
		return err
	}
	o, err := h.decodeNamed(text)
	if err != nil {
		return err
	}
	out, err := doRequest(h.Context(), h.c, h.newRequest("update"), func() (Object, error) {
		before, err := h.s.storedObjectOrNotFoundLocked(h.objectKey())
		if err != nil {
			return nil, err
		}
		after, err := h.recordFieldOwner(before, o)
		if err != nil {
			return nil, err
		}
		return h.s.updateObjectLocked(after, h.restoreFields())
	})
	if err != nil {
		return err
	}
	return h.sendObject(http.StatusOK, out)
}

// servePatch applies a JSON patch, a merge patch, a strategic merge patch or a configuration (server-side apply) to an
// object or its status.
func (h *httpRequest) servePatch() error {
	patch, err := h.readBody()
	if err != nil {
		return err
	}
	mediaType, _, _ := strings.Cut(h.Header.Get("Content-Type"), ";")
	form := types.PatchType(mediaType)
	switch {
	case form == types.ApplyYAMLPatchType && !h.resource.isEventsV1():
		return h.serveApply(patch)
	case form == types.JSONPatchType, form == types.MergePatchType, form == types.StrategicMergePatchType && h.resource.newTyped != nil:
	default:
		return h.newUnsupportedTypeError(fmt.Sprintf("package apiservertest does not apply a patch of the type %q to %s", form, h.resource.Name))
	}
	r := h.newRequest("patch")
	r.Body = patch
	if form != types.JSONPatchType {
		r.Keys = patchFieldPaths(patch)
	}
	out, err := doRequest(h.Context(), h.c, r, func() (Object, error) {
		before, err := h.s.storedObjectOrNotFoundLocked(h.objectKey())
		if err != nil {
			return nil, err
		}
		text, err := h.applyPatch(form, before, patch)
		if err != nil {
			return nil, err
		}
		after, err := h.decodeNamed(text)
		if err != nil {
			return nil, err
		}
		if after, err = h.recordFieldOwner(before, after); err != nil {
			return nil, err
		}
		return h.s.updateObjectLocked(after, h.restoreFields())
	})
	if err != nil {
		return err
	}
	return h.sendObject(http.StatusOK, out)
}

// applyPatch returns the JSON of an object after a patch. A patch that is neither a JSON patch nor a merge patch is a
// strategic merge patch.
func (h *httpRequest) applyPatch(form types.PatchType, o Object, patch []byte) (after []byte, err error) {
	before, err := json.Marshal(h.resource.toServed(o))
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	switch form {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(patch); err == nil {
			after, err = operations.Apply(before)
		}
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, patch)
	default:
		after, err = strategicpatch.StrategicMergePatch(before, patch, h.resource.newTyped())
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("the patch cannot be applied: " + err.Error())
	}
	return after, nil
}

// sendSuccess sends a status that says that the request has succeeded.
func (h *httpRequest) sendSuccess(code int) error {
	return sendJSON(h.w, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

// serveDelete deletes an object. Finalizers keep it.
func (h *httpRequest) serveDelete() error {
	var options metav1.DeleteOptions
	if err := h.decodeBody(&options); err != nil {
		return err
	}
	if text := h.URL.Query().Get("gracePeriodSeconds"); text != "" && options.GracePeriodSeconds == nil {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return apierrors.NewBadRequest("gracePeriodSeconds: expected a number")
		}
		options.GracePeriodSeconds = &seconds
	}
	_, err := doRequest(h.Context(), h.c, h.newRequest("delete"), func() (struct{}, error) {
		o, err := h.s.storedObjectOrNotFoundLocked(h.objectKey())
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, h.s.deleteObjectLocked(o, &options)
	})
	if err != nil {
		return err
	}
	return h.sendSuccess(http.StatusOK)
}

// serveDeleteCollection deletes the selected objects. It stops at the first error.
func (h *httpRequest) serveDeleteCollection() error {
	var options metav1.DeleteOptions
	if err := h.decodeBody(&options); err != nil {
		return err
	}
	f, err := h.newFeedWithSelectors()
	if err != nil {
		return err
	}
	_, err = doRequest(h.Context(), h.c, h.newRequest("deletecollection"), func() (struct{}, error) {
		for _, o := range h.s.listLocked(h.resource.key, f.selected) {
			if err := h.s.deleteObjectLocked(o, &options); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	return h.sendSuccess(http.StatusOK)
}

// deleteObjectLocked deletes a stored object if the preconditions hold. A pod keeps running for its grace period. An
// object with finalizers gets a deletion timestamp and stays.
func (s *Server) deleteObjectLocked(o Object, options *metav1.DeleteOptions) error {
	var uid *types.UID
	if p := options.Preconditions; p != nil {
		if uid = p.UID; p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion() {
			return apierrors.NewConflict(groupResource(resourceOf(o)), o.GetName(), fmt.Errorf("the resource version in the precondition is another one"))
		}
	}
	if pod, ok := o.(*v1.Pod); ok {
		return s.deletePodLocked(pod, uid, options.GracePeriodSeconds, allowAll)
	}
	if uid != nil && *uid != o.GetUID() {
		return apierrors.NewConflict(groupResource(resourceOf(o)), o.GetName(), fmt.Errorf("the UID in the precondition is another one"))
	}
	switch {
	case len(o.GetFinalizers()) == 0:
		s.removeLocked(keyOfObject(o))
	case o.GetDeletionTimestamp() == nil:
		after := o.DeepCopyObject().(Object)
		now := s.serverTime()
		after.SetDeletionTimestamp(&now)
		after.SetDeletionGracePeriodSeconds(new(int64))
		s.storeLocked(keyOfObject(o), o, after)
	}
	return nil
}

// serveBinding binds a pod to a node, as a scheduler does. It refuses a pod that is bound or being deleted.
func (h *httpRequest) serveBinding() error {
	var binding v1.Binding
	if err := h.decodeBody(&binding); err != nil {
		return err
	}
	_, err := doRequest(h.Context(), h.c, h.newRequest("create"), func() (struct{}, error) {
		o, err := h.s.storedObjectOrNotFoundLocked(h.objectKey())
		if err != nil {
			return struct{}{}, err
		}
		before := o.(*v1.Pod)
		if before.Spec.NodeName != "" || before.DeletionTimestamp != nil {
			return struct{}{}, apierrors.NewConflict(groupResource("pods/binding"), h.name, fmt.Errorf("pod %s is already assigned to node %q or is being deleted", h.name, before.Spec.NodeName))
		}
		after := before.DeepCopy()
		after.Spec.NodeName = binding.Target.Name
		setCondition(after, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: h.s.serverTime()})
		h.s.storeLocked(h.objectKey(), before, after)
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	return h.sendSuccess(http.StatusCreated)
}

// setCondition adds a condition to the status of a pod, or replaces the condition of its type.
func setCondition(pod *v1.Pod, condition v1.PodCondition) {
	if i := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == condition.Type }); i >= 0 {
		pod.Status.Conditions[i] = condition
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}

// serveEviction evicts a pod: it adds the condition DisruptionTarget and deletes the pod. The server has no
// PodDisruptionBudgets, which could refuse the eviction.
func (h *httpRequest) serveEviction() error {
	eviction := policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{}}
	if err := h.decodeBody(&eviction); err != nil {
		return err
	}
	if eviction.DeleteOptions == nil {
		eviction.DeleteOptions = &metav1.DeleteOptions{}
	}
	_, err := doRequest(h.Context(), h.c, h.newRequest("create"), func() (struct{}, error) {
		o, err := h.s.storedObjectOrNotFoundLocked(h.objectKey())
		if err != nil {
			return struct{}{}, err
		}
		pod := o.(*v1.Pod)
		if pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodFailed && pod.Status.Phase != v1.PodSucceeded {
			before := pod
			pod = pod.DeepCopy()
			setCondition(pod, v1.PodCondition{
				Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting", LastTransitionTime: h.s.serverTime(),
			})
			h.s.storeLocked(h.objectKey(), before, pod)
		}
		return struct{}{}, h.s.deleteObjectLocked(pod, eviction.DeleteOptions)
	})
	if err != nil {
		return err
	}
	return h.sendSuccess(http.StatusCreated)
}
