package clusterlab_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// awaitPod waits until a pod is as wanted, and returns it. It is nil if it is gone.
func awaitPod(t *testing.T, config *rest.Config, name string, wanted func(*v1.Pod) bool) *v1.Pod {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), joinLimit)
	defer cancel()
	watch, err := client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	require.NoError(t, err)
	defer watch.Stop()
	for e := range watch.ResultChan() {
		pod, ok := e.Object.(*v1.Pod)
		if ok && e.Type != "DELETED" && wanted(pod) {
			return pod
		}
		if e.Type == "DELETED" && wanted(nil) {
			return nil
		}
	}
	require.Fail(t, "the pod did not become as wanted", name)
	return nil
}

func isPodReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// runPodsOnNodes runs pods on two nodes. They are spread, one fails and restarts, one is not ready after the loss of
// its node, and one is deleted.
func runPodsOnNodes(t *testing.T, config *rest.Config) {
	nodes := clustertest.StartNodes(t, config, 2)
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default")
	for _, b := range []*podtest.PodBuilder{
		podtest.Pod("a").GracePeriod(time.Second).Container("c", podtest.Exits(1), podtest.Then(podtest.RunsForever())).Probe(podtest.Readiness, podtest.FailsFor(2*time.Second)),
		podtest.Pod("b").GracePeriod(time.Second).Container("c", podtest.Requests("cpu=1")),
		podtest.Pod("large").Container("c", podtest.Requests("cpu=64")),
	} {
		_, err := pods.Create(t.Context(), b.Build(t), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	a := awaitPod(t, config, "a", func(pod *v1.Pod) bool { return pod != nil && isPodReady(pod) })
	b := awaitPod(t, config, "b", func(pod *v1.Pod) bool { return pod != nil && isPodReady(pod) })
	assert.Equal(t, int32(1), a.Status.ContainerStatuses[0].RestartCount)
	assert.NotEqual(t, a.Spec.NodeName, b.Spec.NodeName)
	large := awaitPod(t, config, "large", func(pod *v1.Pod) bool { return pod != nil && len(pod.Status.Conditions) > 0 })
	assert.Equal(t, v1.PodReasonUnschedulable, large.Status.Conditions[0].Reason)
	nodes.Node(a.Spec.NodeName).Lose()
	awaitPod(t, config, "a", func(pod *v1.Pod) bool { return pod != nil && !isPodReady(pod) })
	require.NoError(t, pods.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	awaitPod(t, config, "b", func(pod *v1.Pod) bool { return pod == nil })
}

// TestStartNodes: simulated nodes of a test join a real API server.
func TestStartNodes(t *testing.T) {
	c := startLab(t, clusterlab.Config{})
	runPodsOnNodes(t, c.Rest("admin"))
}

// TestStartNodes_InProcess: the same test with an API server in memory. It needs no -cluster.
func TestStartNodes_InProcess(t *testing.T) {
	server := apiservertest.New(apiservertest.Config{})
	runPodsOnNodes(t, &rest.Config{Host: "http://memory", Transport: server.RoundTripper()})
}
