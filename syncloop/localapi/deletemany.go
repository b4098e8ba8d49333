package localapi

import (
	"net/http"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleteMany begins the deletion of the pods that a client selects, and answers with them. Static
// pods are left out: at an API server they come back at once, as their manifests are there.
func (p *podWriter) deleteMany(w http.ResponseWriter, r *http.Request, t target) {
	q, err := p.newWriting(w, r, t)
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
		deleted, err = q.deleteAll(&o)
	}
	if err != nil {
		sendError(w, err)
		return
	}
	sendList(w, v, deleted, metav1.ListMeta{})
}

// deleteAll deletes one pod after the other, until one cannot be deleted. One that has gone
// meanwhile is no error.
func (q *writing) deleteAll(o *options) (deleted []object, err error) {
	pods, _, err := q.resource.chosen(o)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		if q.store.record(pod.GetUID()).pod == nil {
			continue
		}
		one := *q
		one.namespace, one.name = pod.GetNamespace(), pod.GetName()
		var after *v1.Pod
		switch after, err = one.contained(one.delete); {
		case err == nil:
			deleted = append(deleted, after)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return deleted, nil
}
