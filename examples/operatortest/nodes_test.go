package operatortest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// TestNodesOfACluster runs two nodes at an API server in memory, in virtual time. With envtest, leave synctest and the
// server out, and pass the rest.Config of envtest.
func TestNodesOfACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{})
		config := &rest.Config{Host: "http://memory", Transport: server.RoundTripper()}
		nodes := clustertest.StartNodes(t, config, 2) // They bind pods too; with BindNever a scheduler of yours does.
		client := kubernetes.NewForConfigOrDie(config).CoreV1()
		pods := client.Pods("default")

		pod := podtest.Pod("web").Container("c", podtest.Runs(time.Second), podtest.Exits(1)).Build(t)
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(2 * time.Minute) // Virtual: it takes milliseconds.

		pod, err = pods.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, int32(4), pod.Status.ContainerStatuses[0].RestartCount) // After 0, 10, 20 and 40 s.
		assert.Equal(t, "CrashLoopBackOff", pod.Status.ContainerStatuses[0].State.Waiting.Reason)

		name := pod.Spec.NodeName
		nodes.Node(name).Lose() // Now its API objects are as a control plane leaves them after 40 s without a heartbeat.
		lost, err := client.Nodes().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		ready := slices.IndexFunc(lost.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
		assert.Equal(t, v1.ConditionUnknown, lost.Status.Conditions[ready].Status)
	})
}
