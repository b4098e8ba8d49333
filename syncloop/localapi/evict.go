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

// evictions is the subresource by which kubectl drain ends pods.
const evictions = "eviction"

var evictionKind = policyv1.SchemeGroupVersion.WithKind("Eviction")

// evict answers a request that evicts a pod: one that deletes it, as there is no
// PodDisruptionBudget that could forbid it.
func (p *podWriter) evict(w http.ResponseWriter, r *http.Request, t target) {
	if r.Method != http.MethodPost {
		sendError(w, t.unsupported(cmp.Or(writeVerbs[r.Method], strings.ToLower(r.Method))))
		return
	}
	q, err := p.newWriting(w, r, t)
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
	var e policyv1.Eviction
	if err := q.codec.decode(q.text, q.strict(), evictionKind, &e); err != nil {
		return nil, err
	}
	if e.Name != q.name || e.Namespace != "" && e.Namespace != q.namespace {
		return nil, apierrors.NewBadRequest("the name of the Eviction does not match the name on the URL")
	}
	return q.remove(cmp.Or(e.DeleteOptions, &metav1.DeleteOptions{}))
}
