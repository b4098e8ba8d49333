package localapi

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// evictions is the subresource by which kubectl drain ends pods.
const evictions = "eviction"

var evictionKind = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}

// eviction is an Eviction of policy/v1, the package of which weighs more than all that answers it.
type eviction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`
	DeleteOptions     metav1.DeleteOptions `json:"deleteOptions" protobuf:"bytes,2,opt,name=deleteOptions"`
}

// Reset and Unmarshal read protobuf, in which controller-runtime sends it.
func (e *eviction) Reset() { *e = eviction{} }

// Unmarshal takes field 1 as PartialObjectMetadata does, and the bytes of field 2 as Unknown does.
func (e *eviction) Unmarshal(text []byte) error {
	var metadata metav1.PartialObjectMetadata
	var options k8sruntime.Unknown
	if err := errors.Join(metadata.Unmarshal(text), options.Unmarshal(text)); err != nil {
		return err
	}
	e.ObjectMeta = metadata.ObjectMeta
	return e.DeleteOptions.Unmarshal(options.Raw)
}

// DeepCopyObject implements runtime.Object. A decoder asks for none.
func (e *eviction) DeepCopyObject() k8sruntime.Object {
	c := *e
	e.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	e.DeleteOptions.DeepCopyInto(&c.DeleteOptions)
	return &c
}

// evict answers a request that evicts a pod: one that deletes it, as there is no
// PodDisruptionBudget that could forbid it.
func (a *API) evict(w http.ResponseWriter, r *http.Request, t target) {
	if r.Method != http.MethodPost {
		sendError(w, t.unsupported(cmp.Or(writeVerbs[r.Method], strings.ToLower(r.Method))))
		return
	}
	q, err := a.newWriting(w, r, t)
	if err == nil {
		_, err = q.contained(q.evicted)
	}
	if err != nil {
		sendError(w, err)
		return
	}
	done := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusCreated}
	sendJSON(w, http.StatusCreated, done)
}

// evicted begins the deletion of the pod.
func (q *writing) evicted() (*v1.Pod, error) {
	var e eviction
	if err := q.codec.decode(q.text, q.strict(), evictionKind, &e); err != nil {
		return nil, err
	}
	if e.Name != q.name || e.Namespace != "" && e.Namespace != q.namespace {
		return nil, apierrors.NewBadRequest("the name of the Eviction does not match the name on the URL")
	}
	return q.remove(&e.DeleteOptions)
}
