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
	"github.com/podkeel/podkeel/syncloop/localapi/internal/created"
)

var podKind = v1.SchemeGroupVersion.WithKind("Pod")

// ephemeral is the subresource by which containers for debugging are added.
const ephemeral = "ephemeralcontainers"

// podWriter answers requests that create, change, delete and evict pods.
type podWriter struct {
	*backend
	store *podStore
}

// write answers a request that changes pods.
func (p *podWriter) write(w http.ResponseWriter, r *http.Request, t target) {
	q, err := p.newWriting(w, r, t)
	var pod *v1.Pod
	code := http.StatusOK
	switch {
	case err != nil:
	case r.Method == http.MethodPost && t.name == "":
		code = http.StatusCreated
		pod, err = q.contained(q.create)
	case t.name == "" || r.Method == http.MethodPost || t.subresource != "" && r.Method == http.MethodDelete:
		err = q.unsupported(writeVerbs[r.Method])
	case r.Method == http.MethodDelete:
		pod, err = q.contained(q.delete)
	case r.Method == http.MethodPatch && !slices.Contains(patchTypes, q.patchType()):
		err = unknownPatch(q.media) // Before the pod is looked for, which an apply would create.
	default:
		pod, err = q.contained(func() (*v1.Pod, error) { return q.update(r.Method) })
	}
	v, formErr := newView(t.resource, r, p.now)
	if err == nil {
		err = formErr
	}
	if err != nil {
		sendError(w, err)
		return
	}
	sendJSON(w, code, v.one(pod))
}

// unsupported is the error about a request for which there are others of its method.
func (t *target) unsupported(verb string) error {
	if t.subresource == "" && verb == "delete" {
		verb = "deletecollection"
	}
	return apierrors.NewMethodNotSupported(t.asked(), verb)
}

// asked is the resource of errors, with the subresource.
func (t *target) asked() schema.GroupResource {
	of := t.resource.group()
	if t.subresource != "" {
		of.Resource += "/" + t.subresource
	}
	return of
}

var writeVerbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// writing is one request that changes a pod.
type writing struct {
	*podWriter
	target
	text  []byte
	query map[string][]string
	dry   bool // nothing is changed
	media string
}

// contained answers a panic, as of a library that a patch confuses, as an internal error.
func (q *writing) contained(write func() (*v1.Pod, error)) (pod *v1.Pod, err error) {
	defer q.panics.Recover("write", &err)
	return write()
}

// newWriting reads a request that changes a pod. It is refused by a server that is read only.
func (p *podWriter) newWriting(w http.ResponseWriter, r *http.Request, t target) (*writing, error) {
	text, err := readBody(w, r)
	if err == nil && p.config.Writer == nil {
		err = apierrors.NewMethodNotSupported(t.asked(), writeVerbs[r.Method])
		err.(*apierrors.StatusError).ErrStatus.Message = "this server is read only: " + err.Error()
	}
	return &writing{podWriter: p, target: t, text: text, query: r.URL.Query(), dry: r.URL.Query().Get("dryRun") != "", media: r.Header.Get("Content-Type")}, err
}

func (q *writing) strict() bool {
	return slices.Equal(q.query["fieldValidation"], []string{"Strict"})
}

// create creates a pod.
func (q *writing) create() (*v1.Pod, error) {
	pod := &v1.Pod{}
	if err := q.codec.decode(q.text, q.strict(), podKind, pod); err != nil {
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
	validation.Default(pod) // Comes last: an update compares the pod with one that has all defaults.
	if err := q.check(pod, append(checkFinalizers(pod, pod), validation.Validate(pod)...)); err != nil {
		return nil, err
	}
	defer q.store.writes.Lock(key(pod.Namespace, pod.Name))()
	if q.resource.get(pod.Namespace, pod.Name) != nil {
		return nil, apierrors.NewAlreadyExists(q.resource.group(), pod.Name)
	}
	if err := q.fits(pod); err != nil {
		return nil, err
	}
	return q.begin(pod)
}

// begin keeps a new pod, shows it and gives it to the node.
func (q *writing) begin(pod *v1.Pod) (*v1.Pod, error) {
	if q.dry {
		return asCreated(pod), nil
	}
	if err := q.config.Saved.Save(pod); err != nil {
		return nil, err
	}
	shown, err := q.store.write(created.Create, pod)
	if err != nil {
		q.store.refuse(pod)
		return nil, apierrors.NewConflict(q.resource.group(), pod.Name, err)
	}
	return cmp.Or(q.store.shownPod(pod), shown), nil // It may run already.
}

// changedFaults returns the faults of a change to a pod that was created before. A pod that an earlier
// process has accepted can be changed although a new pod like it is refused.
func changedFaults(pod, next *v1.Pod) field.ErrorList {
	before := pod.DeepCopy()
	validation.Default(before)
	if len(validation.Validate(before)) > 0 {
		return validation.ValidateAccepted(next)
	}
	return validation.Validate(next)
}

// check returns all faults of a pod, with the given ones, as an error of code 422.
func (q *writing) check(pod *v1.Pod, faults field.ErrorList) error {
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

// own is the desired pod of the name, and as it is shown. The caller holds the name's lock.
func (q *writing) own() (desired, shown *v1.Pod, err error) {
	o := q.resource.get(q.namespace, q.name)
	if o == nil {
		return nil, nil, apierrors.NewNotFound(q.resource.group(), q.name)
	}
	shown = o.(*v1.Pod)
	if desired = q.store.record(shown.UID).pod; desired == nil {
		refused := apierrors.NewMethodNotSupported(q.resource.group(), "write")
		refused.ErrStatus.Message = fmt.Sprintf("pod %q is a static pod: change or remove its manifest", q.name)
		return nil, nil, refused
	}
	return desired, shown, nil
}

// precondition is an error of code 409 if a pod is another one than a client has seen.
func (q *writing) precondition(shown *v1.Pod, uid types.UID, version string) error {
	switch {
	case uid != "" && uid != shown.UID:
		return apierrors.NewConflict(q.resource.group(), q.name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, shown.UID))
	case version != "" && version != shown.ResourceVersion:
		return apierrors.NewConflict(q.resource.group(), q.name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// delete deletes a pod.
func (q *writing) delete() (*v1.Pod, error) {
	var options metav1.DeleteOptions
	if len(q.text) > 0 {
		if err := q.codec.decode(q.text, false, v1.SchemeGroupVersion.WithKind("DeleteOptions"), &options); err != nil {
			return nil, err
		}
	}
	if grace := q.query["gracePeriodSeconds"]; len(grace) > 0 && json.Unmarshal([]byte(grace[0]), &options.GracePeriodSeconds) != nil {
		return nil, apierrors.NewBadRequest("gracePeriodSeconds: expected a number")
	}
	return q.remove(&options)
}

// remove begins the deletion of a pod, or shortens its grace period.
func (q *writing) remove(options *metav1.DeleteOptions) (*v1.Pod, error) {
	defer q.store.writes.Lock(key(q.namespace, q.name))()
	pod, shown, err := q.own()
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
		if err := q.precondition(shown, uid, version); err != nil {
			return nil, err
		}
	}
	return q.end(pod, shown, options.GracePeriodSeconds, q.dry || len(options.DryRun) > 0)
}

// end has the node end a pod within a grace period; nil is the pod's own. A second deletion
// can only shorten it. The pod is shown until it has ended, without a grace period too.
func (q *writing) end(pod, shown *v1.Pod, grace *int64, dry bool) (*v1.Pod, error) {
	seconds := *pod.Spec.TerminationGracePeriodSeconds
	if grace != nil {
		seconds = max(*grace, 0)
	}
	if pod.DeletionGracePeriodSeconds != nil && seconds >= *pod.DeletionGracePeriodSeconds {
		return shown, nil
	}
	pod = pod.DeepCopy()
	at := metav1.NewTime(q.now().Add(time.Duration(min(seconds, 1<<31)) * time.Second).Truncate(time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &seconds
	if dry {
		pod.Status = shown.Status
		return kinded(pod, "Pod"), nil
	}
	if err := q.config.Saved.Save(pod); err != nil && q.config.Saved.Drop(pod.UID) != nil {
		return nil, err // A full disk has room for no file, and lets one be removed.
	}
	return q.applied(created.Delete, pod)
}

// applied is write for a pod that is there. The error has the code 503 if the node does not take it.
func (q *writing) applied(kind created.Kind, pod *v1.Pod) (*v1.Pod, error) {
	shown, err := q.store.write(kind, pod)
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(plain.Text(err.Error()))
	}
	return shown, nil
}

// update changes a pod by a patch, or replaces it.
func (q *writing) update(method string) (*v1.Pod, error) {
	defer q.store.writes.Lock(key(q.namespace, q.name))()
	pod, shown, err := q.own()
	if err != nil {
		return nil, err
	}
	text := q.text
	if method == http.MethodPatch {
		if text, err = q.patched(shown); err != nil {
			return nil, err
		}
	}
	after := &v1.Pod{}
	if err := q.codec.decode(text, q.strict(), podKind, after); err != nil {
		return nil, err
	}
	if after.Name != pod.Name || after.Namespace != "" && after.Namespace != pod.Namespace {
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	}
	if err := q.precondition(shown, after.UID, after.ResourceVersion); err != nil {
		return nil, err
	}
	return q.replace(pod, shown, after)
}

// replace checks what is different, keeps it, shows it and gives it to the node.
func (q *writing) replace(pod, shown, after *v1.Pod) (*v1.Pod, error) {
	next, faults := q.changed(pod, after)
	if err := q.check(next, append(faults, changedFaults(pod, next)...)); err != nil {
		return nil, err
	}
	switch {
	case equality.Semantic.DeepEqual(pod, next):
		return shown, nil
	case !equality.Semantic.DeepEqual(pod.Spec, next.Spec):
		next.Generation++
	}
	if err := q.fits(next); err != nil {
		return nil, err
	}
	if q.dry {
		dry := kinded(next.DeepCopy(), "Pod")
		dry.Status, dry.ResourceVersion = *shown.Status.DeepCopy(), shown.ResourceVersion
		setOthers(&dry.Status, next)
		return dry, nil
	}
	if err := q.config.Saved.Save(next); err != nil {
		return nil, err
	}
	return q.applied(created.Update, next)
}

// changed is the pod as a client wants it, and what is wrong with the change. Each subresource
// changes its part only; what else the client sends is ignored, or a fault, as at a real server.
func (q *writing) changed(pod, after *v1.Pod) (*v1.Pod, field.ErrorList) {
	next := pod.DeepCopy()
	if q.target.subresource == statusSub {
		next.Status.Conditions = ofOthers(after.Status.Conditions)
		return next, checkConditions(after.Status.Conditions)
	}
	next.Spec = after.Spec
	if next.Spec.NodeName == "" { // A manifest names no node, as there is one only.
		next.Spec.NodeName = pod.Spec.NodeName
	}
	check := checkEphemeral
	if q.target.subresource == "" {
		check = checkUpdate
		next.Labels, next.Annotations, next.Finalizers, next.OwnerReferences = after.Labels, after.Annotations, after.Finalizers, after.OwnerReferences
	}
	validation.Default(next)
	return next, slices.Concat(check(pod, next), checkAnnotations(pod, next), checkFinalizers(pod, next))
}

// patchTypes are the forms of patches that are taken.
var patchTypes = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType}

func (q *writing) patchType() types.PatchType {
	media, _, _ := mime.ParseMediaType(q.media)
	return types.PatchType(media)
}

// patched is the pod after the patch, as JSON.
func (q *writing) patched(pod *v1.Pod) (text []byte, err error) {
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	if err = bounded(q.text, pod); err != nil {
		return nil, err
	}
	text, err = applyPatch(q.patchType(), before, q.text, v1.Pod{})
	if err != nil {
		return nil, refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, plain.Text(err.Error()))
	}
	return text, nil
}

// unknownPatch is the error about a patch of another form. kubectl prints the message of the
// one about server-side apply.
func unknownPatch(media string) error {
	message := "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
	if strings.HasPrefix(media, "application/apply-patch") {
		message = "this node keeps no owners of fields: use kubectl apply without --server-side"
	}
	return refusal(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, message)
}

func refusal(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}
