package operatortest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// TestServerSideApply: the API server in memory serves the typed clients of client-go, which send protobuf, and
// server-side apply of Deployments, pods and custom resources.
func TestServerSideApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{
			Resources: []metav1.APIResource{siteResource, {
				Group: "apps", Version: "v1", Kind: "Deployment", Name: "deployments", Namespaced: true, Verbs: metav1.Verbs{"status"},
			}},
			TypeConverter: applyconfigurations.NewTypeConverter(scheme.Scheme),
		})
		config := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}
		typed, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		untyped, err := client.New(config, client.Options{})
		require.NoError(t, err)

		web := appsv1ac.Deployment("web", "default").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3).WithTemplate(corev1ac.PodTemplateSpec().
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("c").WithImage("web:1")))))
		created, err := typed.AppsV1().Deployments("default").Apply(t.Context(), web, metav1.ApplyOptions{FieldManager: "operator"})
		require.NoError(t, err)
		created.Spec.Template.Spec.Containers = append(created.Spec.Template.Spec.Containers, v1.Container{Name: "log", Image: "log:1"})
		created.Spec.Replicas = new(int32(5))
		_, err = typed.AppsV1().Deployments("default").Update(t.Context(), created, metav1.UpdateOptions{FieldManager: "kubectl"})
		require.NoError(t, err)
		_, err = typed.AppsV1().Deployments("default").Apply(t.Context(), web, metav1.ApplyOptions{FieldManager: "operator"})
		require.True(t, apierrors.IsConflict(err), "%v", err)
		forced, err := typed.AppsV1().Deployments("default").Apply(t.Context(), web, metav1.ApplyOptions{FieldManager: "operator", Force: true})
		require.NoError(t, err)
		require.EqualValues(t, 3, *forced.Spec.Replicas)
		require.Len(t, forced.Spec.Template.Spec.Containers, 2, "the containers are merged by name")

		pod := corev1ac.Pod("web", "default").WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("c").WithImage("web:1")))
		require.NoError(t, untyped.Apply(t.Context(), pod, client.FieldOwner("operator")))
		_, err = typed.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)

		site := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "default", "name": "site"}, "spec": map[string]any{"replicas": int64(2)}}}
		site.SetGroupVersionKind(operatortest.GroupVersion.WithKind("Site"))
		require.NoError(t, untyped.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(site), client.FieldOwner("operator")))
		require.EqualValues(t, 1, site.GetGeneration())
	})
}
