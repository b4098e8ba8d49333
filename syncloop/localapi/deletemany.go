package localapi

import (
	"net/http"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serveDeleteCollection starts the deletion of the selected pods that clients of this API have created, and
// sends them as a list. It skips static pods and pods of the embedding program.
func (p *podWriter) serveDeleteCollection(w http.ResponseWriter, r *http.Request, t target) {
	q, err := p.newWriteRequest(w, r, t)
	if err != nil {
		sendError(w, err)
		return
	}
	o, err := t.resource.parseOptions(r.URL.Query())
	v, formErr := newView(t.resource, r, p.now)
	if err == nil {
		err = formErr
	}
	var deleted []object
	if err == nil {
		o.namespace = t.namespace
		deleted, err = q.deletePods(&o)
	}
	if err != nil {
		sendError(w, err)
		return
	}
	sendList(w, v, deleted, metav1.ListMeta{})
}

// deletePods starts the deletion of each selected pod that a client of this API has created. It stops at the
// first error. A pod that was removed meanwhile is no error.
func (q *writeRequest) deletePods(o *options) (deleted []object, err error) {
	pods, _, err := q.resource.selectObjects(o)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		if q.store.recordOf(pod.GetUID()).written == nil {
			continue
		}
		one := *q
		one.namespace, one.name = pod.GetNamespace(), pod.GetName()
		var after *v1.Pod
		switch after, err = one.callRecoveringPanic(one.deletePod); {
		case err == nil:
			deleted = append(deleted, after)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return deleted, nil
}
