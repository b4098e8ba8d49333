package operatortest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// TestGPUs: six pods need a GPU each, and two nodes have two each. Four pods run and two wait. The pods complete after a
// minute, the operator replaces them, and the waiting pods get their GPUs.
func TestGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{Resources: []metav1.APIResource{siteResource}})
		config := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}
		scheme := runtime.NewScheme()
		require.NoError(t, operatortest.AddToScheme(scheme))
		direct, err := client.New(config, client.Options{Scheme: scheme})
		require.NoError(t, err)
		startManager(t, config, scheme)
		clustertest.Start(t, clustertest.Config{Server: config, Nodes: 2, Configure: func(c *cluster.Config) {
			c.Node.Scheduling.Capacity["nvidia.com/gpu"] = resource.MustParse("2")
		}})
		e := &env{TB: t, Client: direct}
		e.createSite(6, podtest.Pod("p").RestartPolicy(v1.RestartPolicyNever).
			Container("c", podtest.Limits("nvidia.com/gpu=1"), podtest.Runs(time.Minute), podtest.Exits(0)))

		hasNoNode := func(pod *v1.Pod) bool { return pod.Spec.NodeName == "" }
		time.Sleep(30 * time.Second) // Virtual.
		first := e.pods(isReady)
		require.Len(t, first, 4)
		waiting := e.pods(hasNoNode)
		require.Len(t, waiting, 2)
		require.Equal(t, v1.PodReasonUnschedulable, waiting[0].Status.Conditions[0].Reason)

		time.Sleep(time.Minute)
		next := e.pods(isReady)
		require.Len(t, next, 4)
		require.Len(t, e.pods(hasNoNode), 2)
		for _, pod := range first {
			require.NotContains(t, uidsOf(next), pod.UID, "a completed pod is replaced and does not run again")
		}
	})
}

// uidsOf returns the UIDs of pods.
func uidsOf(pods []*v1.Pod) (uids []types.UID) {
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	return uids
}
