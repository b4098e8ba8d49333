package operatortest

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// siteLabel has the name of the Site of a pod.
const siteLabel = "example.com/site"

// Reconciler keeps the pods of each Site running: it creates missing pods, replaces pods that have failed, and reports
// the state of the pods.
type Reconciler struct{ client.Client }

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&Site{}).Owns(&v1.Pod{}).Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Site{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods v1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(site.Namespace), client.MatchingLabels{siteLabel: site.Name}); err != nil {
		return ctrl.Result{}, err
	}
	before := site.DeepCopyObject().(*Site)
	site.Status = SiteStatus{Replaced: site.Status.Replaced}
	taken, active := map[string]bool{}, []*v1.Pod(nil)
	for i := range pods.Items {
		pod := &pods.Items[i]
		taken[pod.Name] = true
		switch {
		case pod.DeletionTimestamp != nil:
			site.Status.Terminating++
		case pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded:
			if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			site.Status.Replaced++
		case isReady(pod):
			active = append(active, pod)
			site.Status.Ready++
		default:
			active = append(active, pod)
			site.Status.Starting++
			if problem := problemOf(pod); problem != "" {
				site.Status.Problem = problem
			}
		}
	}
	for i := 0; site.Status.Ready+site.Status.Starting < site.Spec.Replicas; i++ {
		if name := fmt.Sprint(site.Name, "-", i); !taken[name] {
			if err := r.createPod(ctx, site, name); err != nil {
				return ctrl.Result{}, err // With a stale cache the pod exists already: the next call has a newer one.
			}
			site.Status.Starting++
		}
	}
	for _, pod := range active[min(site.Spec.Replicas, len(active)):] { // A stale cache lacked a pod, and Reconcile created another one.
		if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if site.Status == before.Status {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.Status().Patch(ctx, site, client.MergeFrom(before)))
}

// createPod creates a pod of the template.
func (r *Reconciler) createPod(ctx context.Context, site *Site, name string) error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: name, Annotations: site.Spec.Template.Annotations, Labels: map[string]string{siteLabel: site.Name}}}
	pod.Spec = *site.Spec.Template.Spec.DeepCopy()
	if err := controllerutil.SetControllerReference(site, pod, r.Scheme()); err != nil {
		return err
	}
	return r.Create(ctx, pod)
}

// isReady reports whether the condition Ready of a pod is true.
func isReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// problemOf returns the reason for which a pod does not become ready, or "" if none is known.
func problemOf(pod *v1.Pod) string {
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if last := s.LastTerminationState.Terminated; last != nil && last.Reason == "OOMKilled" {
			return last.Reason
		}
		if w := s.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return w.Reason
		}
	}
	return ""
}
