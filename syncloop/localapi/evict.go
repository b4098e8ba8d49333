package localapi

import (
	"cmp"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// evictionSubresource is the subresource by which kubectl drain evicts pods.
const evictionSubresource = "eviction"

var evictionKind = policyv1.SchemeGroupVersion.WithKind("Eviction")

// serveEviction starts the deletion of the pod of an eviction request and sends a 201. It accepts only POST. No
// PodDisruptionBudget can forbid the eviction, because the API has none.
func (p *podWriter) serveEviction(w http.ResponseWriter, r *http.Request, t target) {
	if r.Method != http.MethodPost {
		sendError(w, t.methodNotSupportedError(cmp.Or(writeVerbs[r.Method], strings.ToLower(r.Method))))
		return
	}
	q, err := p.newWriteRequest(w, r, t)
	if err == nil {
		_, err = q.callRecoveringPanic(q.decodeEvictionAndStartPodDeletion)
	}
	if err != nil {
		sendError(w, err)
		return
	}
	done := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusCreated}
	sendJSON(w, http.StatusCreated, done)
}

// decodeEvictionAndStartPodDeletion serves a request to the eviction subresource. It decodes the Eviction in
// the body, starts the deletion of its pod, and returns the result of startDeletion. It returns an error if the
// body is no Eviction, or if a name in it differs from the name in the URL.
func (q *writeRequest) decodeEvictionAndStartPodDeletion() (*v1.Pod, error) {
	var e policyv1.Eviction
	if err := q.codec.decode(q.body, q.isStrict(), evictionKind, &e); err != nil {
		return nil, err
	}
	if e.Name != q.name || e.Namespace != "" && e.Namespace != q.namespace {
		return nil, apierrors.NewBadRequest("the name of the Eviction does not match the name on the URL")
	}
	return q.startDeletion(cmp.Or(e.DeleteOptions, &metav1.DeleteOptions{}))
}
