package localapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop/localapi/internal/created"
)

var podKind = v1.SchemeGroupVersion.WithKind("Pod")

// ephemeralSubresource is the subresource by which kubectl debug adds ephemeral containers.
const ephemeralSubresource = "ephemeralcontainers"

// writableSubresources are the subresources of a pod that clients read, patch and replace as a pod.
var writableSubresources = []string{statusSubresource, ephemeralSubresource, resizeSubresource}

// podWriter serves requests that create, change, delete and evict pods.
type podWriter struct {
	*backend
	store *podStore
}

// serveWrite serves a create, update, patch or delete of one pod and sends the resulting pod. It sends a 405
// for other methods and paths, and a 415 for an unsupported patch type.
func (p *podWriter) serveWrite(w http.ResponseWriter, r *http.Request, t target) {
	q, err := p.newWriteRequest(w, r, t)
	var pod *v1.Pod
	code := http.StatusOK
	switch {
	case err != nil:
	case r.Method == http.MethodPost && t.name == "":
		code = http.StatusCreated
		pod, err = q.callRecoveringPanic(q.createPod)
	case t.name == "" || r.Method == http.MethodPost || t.subresource != "" && r.Method == http.MethodDelete:
		err = q.methodNotSupportedError(writeVerbs[r.Method])
	case r.Method == http.MethodDelete:
		pod, err = q.callRecoveringPanic(q.deletePod)
	case r.Method == http.MethodPatch && !slices.Contains(patchTypes, q.patchType()):
		err = unsupportedPatchError(q.contentType) // Before the lookup of the pod, because a server-side apply could create it.
	default:
		pod, err = q.callRecoveringPanic(func() (*v1.Pod, error) { return q.patchOrReplacePod(r.Method) })
	}
	v, formErr := newView(t.resource, r, p.now)
	if err == nil {
		err = formErr
	}
	if err != nil {
		sendError(w, err)
		return
	}
	sendJSON(w, code, v.renderObject(pod))
}

// methodNotSupportedError returns a 405 error for a verb that the target does not support. A delete by name is
// supported, so a delete without a subresource is named deletecollection in the error.
func (t *target) methodNotSupportedError(verb string) error {
	if t.subresource == "" && verb == "delete" {
		verb = "deletecollection"
	}
	return apierrors.NewMethodNotSupported(t.groupResource(), verb)
}

// groupResource returns the GroupResource for errors, with the subresource, such as pods/status.
func (t *target) groupResource() schema.GroupResource {
	of := t.resource.groupResource()
	if t.subresource != "" {
		of.Resource += "/" + t.subresource
	}
	return of
}

// writeVerbs maps an HTTP method to the verb of a write.
var writeVerbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// writeRequest is one request that changes a pod.
type writeRequest struct {
	*podWriter
	target
	body        []byte
	query       map[string][]string
	dryRun      bool // validate and respond, but change nothing
	contentType string
}

// callRecoveringPanic calls write and turns a panic into an error, for example a panic of a library that applies a
// patch.
func (q *writeRequest) callRecoveringPanic(write func() (*v1.Pod, error)) (pod *v1.Pod, err error) {
	defer q.panics.Recover("write", &err)
	return write()
}

// newWriteRequest reads the body and the parameters of a request that changes a pod. It returns an error with
// code 405 if the API has no Writer.
func (p *podWriter) newWriteRequest(w http.ResponseWriter, r *http.Request, t target) (*writeRequest, error) {
	text, err := readBody(w, r)
	if err == nil && p.config.Writer == nil {
		err = apierrors.NewMethodNotSupported(t.groupResource(), writeVerbs[r.Method])
		err.(*apierrors.StatusError).ErrStatus.Message = "this server is read only: " + err.Error()
	}
	return &writeRequest{podWriter: p, target: t, body: text, query: r.URL.Query(), dryRun: r.URL.Query().Get("dryRun") != "", contentType: r.Header.Get("Content-Type")}, err
}

// isStrict reports whether the query has fieldValidation=Strict: the client wants errors for unknown fields.
func (q *writeRequest) isStrict() bool {
	return slices.Equal(q.query["fieldValidation"], []string{"Strict"})
}

// createPod decodes the pod in the body, sets its UID, creation time, node name and defaults, and a name if it
// has only generateName. It then validates the pod, saves it and applies it to the node. It returns an error
// with code 409 if a pod has the name. A dry run only returns the pod.
func (q *writeRequest) createPod() (*v1.Pod, error) {
	pod := &v1.Pod{}
	if err := q.codec.decode(q.body, q.isStrict(), podKind, pod); err != nil {
		return nil, err
	}
	switch {
	case pod.Namespace != "" && pod.Namespace != q.namespace || q.namespace == "":
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case pod.ResourceVersion != "":
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if pod.Name == "" && pod.GenerateName != "" {
		pod.Name = pod.GenerateName[:min(len(pod.GenerateName), 58)] + rand.String(5)
	}
	pod.Namespace, pod.UID, pod.CreationTimestamp, pod.Generation = q.namespace, newUID(), metav1.NewTime(q.now().Truncate(time.Second)), 1
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds, pod.ManagedFields = nil, nil, nil
	pod.Status = v1.PodStatus{}
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = q.config.NodeName
	}
	podspec.SetAppArmor(pod)
	validation.Default(pod) // Last, because an update compares the pod with a pod that has all defaults.
	if err := q.refuseFaultyOrForeignPod(pod, append(validateFinalizers(pod, pod), validation.Validate(pod)...)); err != nil {
		return nil, err
	}
	defer q.store.nameLocks.Lock(namespacedKey(pod.Namespace, pod.Name))()
	if q.resource.shownObjectOrNil(pod.Namespace, pod.Name) != nil {
		return nil, apierrors.NewAlreadyExists(q.resource.groupResource(), pod.Name)
	}
	if err := q.checkCapacity(pod); err != nil {
		return nil, err
	}
	return q.saveAndApplyOrRemoveNewPodUnlessDryRun(pod)
}

// saveAndApplyOrRemoveNewPodUnlessDryRun saves a new pod, makes it visible and applies it to the node. If the
// node refuses the pod, it removes the pod again and returns a 409. A dry run only returns the pod.
func (q *writeRequest) saveAndApplyOrRemoveNewPodUnlessDryRun(pod *v1.Pod) (*v1.Pod, error) {
	if q.dryRun {
		return withPendingStatus(pod), nil
	}
	if err := q.config.Saved.Save(pod); err != nil {
		return nil, err
	}
	shown, err := q.store.showAndApplyWrite(created.Create, pod)
	if err != nil {
		q.store.removeRefusedPod(pod)
		return nil, apierrors.NewConflict(q.resource.groupResource(), pod.Name, err)
	}
	return cmp.Or(q.store.shownPodUnlessReplaced(pod), shown), nil // The node may have updated the status already.
}

// validateChangedPod returns the faults of next, the changed pod. If the pod as stored would itself be refused
// today, because an earlier version accepted it, only the weaker rules for accepted pods apply.
func validateChangedPod(pod, next *v1.Pod) field.ErrorList {
	before := pod.DeepCopy()
	validation.Default(before)
	if len(validation.Validate(before)) > 0 {
		return validation.ValidateAccepted(next)
	}
	return validation.Validate(next)
}

// refuseFaultyOrForeignPod returns an error with code 422 if faults is not empty, if the pod names another
// node, or if the pod has an annotation for static pods. It returns nil for any other pod.
func (q *writeRequest) refuseFaultyOrForeignPod(pod *v1.Pod, faults field.ErrorList) error {
	errs := faults
	if pod.Spec.NodeName != q.config.NodeName {
		errs = append(errs, field.Invalid(field.NewPath("spec", "nodeName"), pod.Spec.NodeName, "expected "+q.config.NodeName+", the only node"))
	}
	for _, name := range []string{podmanager.ConfigSourceAnnotation, podmanager.ConfigMirrorAnnotation, podmanager.ConfigHashAnnotation, podmanager.ConfigFirstSeenAnnotation} {
		if _, set := pod.Annotations[name]; set {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations").Key(name), "it is for static pods"))
		}
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(podKind.GroupKind(), pod.Name, errs)
	}
	return nil
}

// getWrittenPod returns the pod as clients have written it and as they see it. It returns a 404 if clients see
// no such pod, and a 405 for a pod that no client of this API has created, such as a static pod. The caller
// holds the lock of the name.
func (q *writeRequest) getWrittenPod() (written, shown *v1.Pod, err error) {
	o := q.resource.shownObjectOrNil(q.namespace, q.name)
	if o == nil {
		return nil, nil, apierrors.NewNotFound(q.resource.groupResource(), q.name)
	}
	shown = o.(*v1.Pod)
	if written = q.store.recordOf(shown.UID).written; written == nil {
		refused := apierrors.NewMethodNotSupported(q.resource.groupResource(), "write")
		refused.ErrStatus.Message = fmt.Sprintf("pod %q was not created through this API: the program that runs the node can change or remove it", q.name)
		if podmanager.IsStaticPod(shown) {
			refused.ErrStatus.Message = fmt.Sprintf("pod %q is a static pod: change or remove its manifest", q.name)
		}
		return nil, nil, refused
	}
	return written, shown, nil
}

// checkUIDAndResourceVersion returns an error with code 409 if the pod does not have the expected UID or
// resource version. It does not check an empty UID or version.
func (q *writeRequest) checkUIDAndResourceVersion(shown *v1.Pod, uid types.UID, version string) error {
	switch {
	case uid != "" && uid != shown.UID:
		return apierrors.NewConflict(q.resource.groupResource(), q.name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, shown.UID))
	case version != "" && version != shown.ResourceVersion:
		return apierrors.NewConflict(q.resource.groupResource(), q.name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// deletePod decodes the delete options in the body and starts the deletion of the pod. gracePeriodSeconds in
// the query replaces the value in the body. It returns an error if the options or gracePeriodSeconds cannot be
// decoded, or if the deletion cannot start.
func (q *writeRequest) deletePod() (*v1.Pod, error) {
	var options metav1.DeleteOptions
	if len(q.body) > 0 {
		if err := q.codec.decode(q.body, false, v1.SchemeGroupVersion.WithKind("DeleteOptions"), &options); err != nil {
			return nil, err
		}
	}
	if grace := q.query["gracePeriodSeconds"]; len(grace) > 0 && json.Unmarshal([]byte(grace[0]), &options.GracePeriodSeconds) != nil {
		return nil, apierrors.NewBadRequest("gracePeriodSeconds: expected a number")
	}
	return q.startDeletion(&options)
}

// startDeletion checks the preconditions and starts the deletion of a pod. If the pod is being deleted already,
// it can only shorten the grace period.
func (q *writeRequest) startDeletion(options *metav1.DeleteOptions) (*v1.Pod, error) {
	defer q.store.nameLocks.Lock(namespacedKey(q.namespace, q.name))()
	pod, shown, err := q.getWrittenPod()
	if err != nil {
		return nil, err
	}
	if p := options.Preconditions; p != nil {
		var uid types.UID
		var version string
		if p.UID != nil {
			uid = *p.UID
		}
		if p.ResourceVersion != nil {
			version = *p.ResourceVersion
		}
		if err := q.checkUIDAndResourceVersion(shown, uid, version); err != nil {
			return nil, err
		}
	}
	return q.saveAndApplyDeletion(pod, shown, options.GracePeriodSeconds, q.dryRun || len(options.DryRun) > 0)
}

// saveAndApplyDeletion sets the deletion timestamp of a copy of the pod, saves the copy and applies it to the
// node. A nil grace means the pod's own grace period, and a pod that is being deleted only gets a shorter one.
// If the copy cannot be saved, the saved file is removed instead. A dry run only returns the pod.
func (q *writeRequest) saveAndApplyDeletion(pod, shown *v1.Pod, grace *int64, dry bool) (*v1.Pod, error) {
	own := lifecycle.GraceFromAPI(pod.Spec.TerminationGracePeriodSeconds).Or(lifecycle.Seconds(v1.DefaultTerminationGracePeriodSeconds))
	requested := lifecycle.Seconds(max(lifecycle.GraceFromAPI(grace).Or(own).Seconds, 0))
	if earlier := lifecycle.GraceFromAPI(pod.DeletionGracePeriodSeconds); earlier.Min(requested) == earlier {
		return shown, nil
	}
	pod = pod.DeepCopy()
	at := metav1.NewTime(q.now().Add(requested.Duration()).Truncate(time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, requested.ToAPI()
	if dry {
		pod.Status = shown.Status
		return withKind(pod, "Pod"), nil
	}
	if err := q.config.Saved.Save(pod); err != nil && q.config.Saved.Drop(pod.UID) != nil {
		return nil, err // On a full disk, removing the file makes the deletion durable. A restart then loses also a pod with finalizers.
	}
	return q.showAndApplyChange(created.Delete, pod)
}

// showAndApplyChange makes a changed pod visible and applies it to the node. The error has code 503 if the node
// refuses the pod. The change stays saved and visible.
func (q *writeRequest) showAndApplyChange(kind created.Kind, pod *v1.Pod) (*v1.Pod, error) {
	shown, err := q.store.showAndApplyWrite(kind, pod)
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(plain.Text(err.Error()))
	}
	return shown, nil
}

// patchOrReplacePod patches a pod if the method is PATCH. For any other method it replaces the pod with the
// body. Before, it checks the name, the UID and the resource version, and returns an error if one does not
// match.
func (q *writeRequest) patchOrReplacePod(method string) (*v1.Pod, error) {
	defer q.store.nameLocks.Lock(namespacedKey(q.namespace, q.name))()
	pod, shown, err := q.getWrittenPod()
	if err != nil {
		return nil, err
	}
	text := q.body
	if method == http.MethodPatch {
		if text, err = q.applyPatchToJSON(shown); err != nil {
			return nil, err
		}
	}
	after := &v1.Pod{}
	if err := q.codec.decode(text, q.isStrict(), podKind, after); err != nil {
		return nil, err
	}
	if after.Name != pod.Name || after.Namespace != "" && after.Namespace != pod.Namespace {
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	}
	if err := q.checkUIDAndResourceVersion(shown, after.UID, after.ResourceVersion); err != nil {
		return nil, err
	}
	return q.replacePod(pod, shown, after)
}

// replacePod validates a changed pod, saves it, makes it visible and applies it to the node. An unchanged pod
// or a dry run is validated but not saved, and only the result is returned. A changed spec increments the
// generation.
func (q *writeRequest) replacePod(pod, shown, after *v1.Pod) (*v1.Pod, error) {
	next, faults := q.buildAndValidateChange(pod, after)
	if err := q.refuseFaultyOrForeignPod(next, append(faults, validateChangedPod(pod, next)...)); err != nil {
		return nil, err
	}
	switch {
	case equality.Semantic.DeepEqual(pod, next):
		return shown, nil
	case !equality.Semantic.DeepEqual(pod.Spec, next.Spec):
		next.Generation++
	}
	if err := q.checkCapacity(next); err != nil {
		return nil, err
	}
	if q.dryRun {
		dry := withKind(next.DeepCopy(), "Pod")
		dry.Status, dry.ResourceVersion = *shown.Status.DeepCopy(), shown.ResourceVersion
		replaceClientConditions(&dry.Status, next)
		return dry, nil
	}
	if err := q.config.Saved.Save(next); err != nil {
		return nil, err
	}
	return q.showAndApplyChange(created.Update, next)
}

// buildAndValidateChange returns a copy of the pod with the client's change, and the faults of the change. A
// request for the status subresource changes only the client's conditions. A request for resize changes only the
// resources and resize policies, and one for ephemeralcontainers only the spec.
func (q *writeRequest) buildAndValidateChange(pod, after *v1.Pod) (*v1.Pod, field.ErrorList) {
	next := pod.DeepCopy()
	if q.target.subresource == statusSubresource {
		next.Status.Conditions = clientConditions(after.Status.Conditions)
		return next, validateClientConditions(after.Status.Conditions)
	}
	if q.target.subresource == resizeSubresource {
		copyResources(&next.Spec, &after.Spec)
		validation.Default(next)
		return next, validateResize(pod, next)
	}
	next.Spec = after.Spec
	if next.Spec.NodeName == "" { // A manifest need not name the only node.
		next.Spec.NodeName = pod.Spec.NodeName
	}
	check := validateEphemeralUpdate
	if q.target.subresource == "" {
		check = validateSpecUpdate
		next.Labels, next.Annotations, next.Finalizers, next.OwnerReferences = after.Labels, after.Annotations, after.Finalizers, after.OwnerReferences
	}
	validation.Default(next)
	return next, slices.Concat(check(pod, next), validateAppArmorUpdate(pod, next), validateFinalizers(pod, next))
}

// patchTypes are the supported patch types.
var patchTypes = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType}

// patchType returns the patch type in the Content-Type header.
func (q *writeRequest) patchType() types.PatchType {
	media, _, _ := mime.ParseMediaType(q.contentType)
	return types.PatchType(media)
}

// applyPatchToJSON returns the JSON of the pod with the patch in the body applied. The error has code 413 if
// the patch exceeds a bound, and 422 if it cannot be applied.
func (q *writeRequest) applyPatchToJSON(pod *v1.Pod) (text []byte, err error) {
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	if err = checkBodyBounds(q.body, pod); err != nil {
		return nil, err
	}
	text, err = applyPatch(q.patchType(), before, q.body, v1.Pod{})
	if err != nil {
		return nil, newStatusError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, plain.Text(err.Error()))
	}
	return text, nil
}

// unsupportedPatchError returns an error with code 415 for an unsupported patch type. For server-side apply the
// message says to use kubectl apply without --server-side.
func unsupportedPatchError(media string) error {
	message := "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
	if strings.HasPrefix(media, "application/apply-patch") {
		message = "this node keeps no owners of fields: use kubectl apply without --server-side"
	}
	return newStatusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, message)
}

// newStatusError returns an error whose Status has this code, reason and message.
func newStatusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}
