package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// admin sends the requests of a scheduler and of the node lifecycle controller.
type admin struct {
	http         *http.Client
	core, leases *rest.RESTClient
}

// newAdmin returns an admin with the credentials of a configuration.
func newAdmin(server *rest.Config) (*admin, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	a := &admin{}
	config := rest.CopyConfig(server)
	config.QPS, config.RateLimiter = -1, nil
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	var err error
	if a.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	for _, group := range []struct {
		client  **rest.RESTClient
		path    string
		version schema.GroupVersion
	}{{&a.core, "/api", v1.SchemeGroupVersion}, {&a.leases, "/apis", coordinationv1.SchemeGroupVersion}} {
		config.APIPath, config.GroupVersion = group.path, &group.version
		if *group.client, err = rest.RESTClientForConfigAndClient(config, a.http); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// closeIdleConnections closes the idle connections of the admin.
func (a *admin) closeIdleConnections() { utilnet.CloseIdleConnectionsFor(a.http.Transport) }

// holdsLease reports whether a component of the control plane has renewed its lease in time.
func (a *admin) holdsLease(ctx context.Context, component string) (bool, error) {
	var lease coordinationv1.Lease
	err := a.leases.Get().Namespace(metav1.NamespaceSystem).Resource("leases").Name(component).Do(ctx).Into(&lease)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return false, err
	}
	return time.Since(lease.Spec.RenewTime.Time) < time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, nil
}

// bindPod binds a pod to a node.
func (a *admin) bindPod(ctx context.Context, pod *v1.Pod, node string) error {
	binding := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Target: v1.ObjectReference{Kind: "Node", Name: node}}
	return a.core.Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("binding").Body(binding).Do(ctx).Error()
}

// patchPodConditions sets conditions of a pod.
func (a *admin) patchPodConditions(ctx context.Context, pod *v1.Pod, conditions ...v1.PodCondition) error {
	patch := map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{"conditions": conditions}}
	return a.patchObject(ctx, a.core.Patch(types.StrategicMergePatchType).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("status"), patch)
}

// patchObject sends a patch as JSON with the request, and returns the error of the API server.
func (a *admin) patchObject(ctx context.Context, request *rest.Request, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return request.Body(body).Do(ctx).Error()
}

// reportNodeLost does what the node lifecycle controller does when a node has not renewed its lease in time: it sets
// the condition Ready of the node to Unknown, adds the unreachable taints, and sets the condition Ready of its pods to
// False.
func (a *admin) reportNodeLost(ctx context.Context, name string) error {
	now := metav1.Now()
	status := map[string]any{"status": map[string]any{"conditions": []v1.NodeCondition{{
		Type: v1.NodeReady, Status: v1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.", LastHeartbeatTime: now, LastTransitionTime: now,
	}}}}
	if err := a.patchObject(ctx, a.core.Patch(types.StrategicMergePatchType).Resource("nodes").Name(name).SubResource("status"), status); err != nil {
		return fmt.Errorf("cannot set the condition of the node: %w", err)
	}
	if err := a.updateTaints(ctx, name); err != nil {
		return fmt.Errorf("cannot taint the node: %w", err)
	}
	pods, err := a.listPods(ctx, name)
	if err != nil {
		return err
	}
	for i := range pods {
		ready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: now}
		if err := a.patchPodConditions(ctx, &pods[i], ready); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("cannot set the condition of pod %s: %w", pods[i].Name, err)
		}
	}
	return nil
}

// listPods returns the pods of a node.
func (a *admin) listPods(ctx context.Context, node string) ([]v1.Pod, error) {
	var pods v1.PodList
	selector := fields.OneTermEqualSelector("spec.nodeName", node).String()
	err := a.core.Get().Resource("pods").Param("fieldSelector", selector).Do(ctx).Into(&pods)
	return pods.Items, err
}
