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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// kubernetesTypes adds the Go types of the groups of Kubernetes whose objects Config.Resources often has.
var kubernetesTypes = runtime.NewSchemeBuilder(
	v1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, discoveryv1.AddToScheme,
	networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
)

// typedConstructor returns a function that makes an empty object of a kind of Kubernetes, or nil if the scheme has no Go
// type of the kind. Typed clients of such kinds send protobuf, and strategic merge patches need the type.
func typedConstructor(scheme *runtime.Scheme, kind schema.GroupVersionKind) func() runtime.Object {
	if !scheme.Recognizes(kind) {
		return nil
	}
	return func() runtime.Object {
		o, err := scheme.New(kind)
		utilruntime.Must(err) // The scheme recognizes the kind.
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
