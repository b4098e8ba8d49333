package operatortest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// TestScheduler tests a scheduler with client-go in virtual time: a gang of three pods waits for a node that joins later.
func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://memory", Transport: apiservertest.New(apiservertest.Config{}).RoundTripper(), QPS: -1}
		client := kubernetes.NewForConfigOrDie(config)
		pods := client.CoreV1().Pods("default")
		startScheduler(t, client)
		join := clustertest.Config{Server: config, Nodes: 2, Binding: clustertest.BindNever}
		join.Configure = func(c *cluster.Config) { c.Node.Scheduling.Capacity[v1.ResourceCPU] = resource.MustParse("1") }
		clustertest.Start(t, join)
		createGang := func(name string, ofThird ...podtest.ContainerOption) {
			for i, script := range [][]podtest.ContainerOption{nil, nil, ofThird} {
				b := podtest.Pod(fmt.Sprint(name, i)).GracePeriod(5*time.Second).Container("c", append(script, podtest.Requests("cpu=1"), podtest.IgnoresTERM())...)
				_, err := pods.Create(t.Context(), b.Build(t), metav1.CreateOptions{})
				require.NoError(t, err)
			}
		}
		status := func(name string) v1.PodStatus {
			pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			return pod.Status
		}
		createGang("a", podtest.Runs(time.Second), podtest.Exits(1))
		time.Sleep(time.Minute) // Virtual: it takes milliseconds.
		require.Nil(t, status("a0").StartTime, "no pod is bound")
		join.Nodes, join.Prefix = 1, "late-" // A node that joins later needs another name.
		clustertest.Start(t, join)
		time.Sleep(time.Minute)
		require.Equal(t, "00:01:00", status("a0").ContainerStatuses[0].State.Running.StartedAt.UTC().Format(time.TimeOnly))
		require.Equal(t, "CrashLoopBackOff", status("a2").ContainerStatuses[0].State.Waiting.Reason)
		require.EqualValues(t, 3, status("a2").ContainerStatuses[0].RestartCount)
		require.NoError(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		createGang("b")
		time.Sleep(time.Minute)
		for _, name := range []string{"b0", "b1", "b2"} { // The nodes are free after the grace period of 5 s.
			require.Equal(t, "00:02:05", status(name).ContainerStatuses[0].State.Running.StartedAt.UTC().Format(time.TimeOnly))
		}
	})
}

// startScheduler starts a scheduler that binds three pods at once, one per node. It stops at the end of the test.
func startScheduler(t *testing.T, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, nodes := factory.Core().V1().Pods().Informer().GetStore(), factory.Core().V1().Nodes().Informer().GetStore()
	factory.StartWithContext(t.Context()) // The context is done before the cleanups run.
	bindGang := func(ctx context.Context) {
		var waiting, free []string
		occupied := map[string]bool{}
		for _, o := range pods.List() {
			pod := o.(*v1.Pod)
			if occupied[pod.Spec.NodeName] = true; pod.Spec.NodeName == "" {
				waiting = append(waiting, pod.Name)
			}
		}
		for _, o := range nodes.List() {
			if node := o.(*v1.Node); !occupied[node.Name] && len(node.Spec.Taints) == 0 {
				free = append(free, node.Name)
			}
		}
		for i := 0; i < 3 && len(waiting) == 3 && len(free) >= 3; i++ {
			binding := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: waiting[i]}, Target: v1.ObjectReference{Kind: "Node", Name: free[i]}}
			_ = client.CoreV1().Pods("default").Bind(ctx, binding, metav1.CreateOptions{}) // The next pass tries again.
		}
	}
	var loop wait.Group // No multiple of the period is a time of the test: at the same instant the order is random.
	loop.StartWithContext(t.Context(), func(ctx context.Context) { wait.UntilWithContext(ctx, bindGang, 700*time.Millisecond) })
	t.Cleanup(func() {
		loop.Wait()
		factory.Shutdown()
	})
}
