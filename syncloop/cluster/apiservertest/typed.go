package apiservertest

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// typesOf returns the function that adds the Go types of a group and version of Kubernetes to a scheme. It returns nil
// for any other group or version.
func typesOf(version schema.GroupVersion) func(*runtime.Scheme) error {
	switch version {
	case v1.SchemeGroupVersion:
		return v1.AddToScheme
	case appsv1.SchemeGroupVersion:
		return appsv1.AddToScheme
	case autoscalingv2.SchemeGroupVersion:
		return autoscalingv2.AddToScheme
	case batchv1.SchemeGroupVersion:
		return batchv1.AddToScheme
	case discoveryv1.SchemeGroupVersion:
		return discoveryv1.AddToScheme
	case networkingv1.SchemeGroupVersion:
		return networkingv1.AddToScheme
	case policyv1.SchemeGroupVersion:
		return policyv1.AddToScheme
	case rbacv1.SchemeGroupVersion:
		return rbacv1.AddToScheme
	case schedulingv1.SchemeGroupVersion:
		return schedulingv1.AddToScheme
	case storagev1.SchemeGroupVersion:
		return storagev1.AddToScheme
	}
	return nil
}

// typedConstructor returns a function that makes an empty object of a kind of Kubernetes, or nil if the kind has no Go
// type here. Typed clients of such kinds send protobuf, and strategic merge patches need the type.
func typedConstructor(r metav1.APIResource) func() runtime.Object {
	add := typesOf(schema.GroupVersion{Group: r.Group, Version: r.Version})
	if add == nil {
		return nil
	}
	scheme := runtime.NewScheme()
	kind := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
	if err := add(scheme); err != nil || !scheme.Recognizes(kind) {
		return nil
	}
	return func() runtime.Object {
		o, err := scheme.New(kind)
		if err != nil {
			panic("apiservertest: " + err.Error()) // The scheme recognizes the kind.
		}
		return o
	}
}

// decodeCustomProtobuf decodes an object from protobuf into JSON values. It returns an UnsupportedMediaType error for a
// kind without a Go type, as a real server does for a custom resource.
func (h *httpRequest) decodeCustomProtobuf(text []byte, into customObject) error {
	if h.resource.newTyped == nil {
		return h.newUnsupportedTypeError("package apiservertest reads " + h.resource.Name + " only as JSON, because it has no Go type for them: set ContentType of the rest.Config to application/json")
	}
	typed := h.resource.newTyped()
	if err := decodeObject(text, typed); err != nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	into.Object = fields
	into.SetGroupVersionKind(h.resource.groupVersionKind())
	return nil
}
