package clusterlab_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
)

// inProcess runs a test in a bubble, with a node of the same process. It needs no programs, and
// no -cluster.
func inProcess(t *testing.T, test func(ctx context.Context, config *rest.Config)) {
	synctest.Test(t, func(t *testing.T) {
		n, err := node.New(node.Config{Name: "n1"})
		require.NoError(t, err)
		api, err := localapi.New(localapi.Config{
			Node: n, NodeName: "n1", Finder: n.Containers(), Logs: n.Containers(), Writer: n, Saved: localapi.Unsaved{}, Authenticator: localapi.Token(""),
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = n.Run(ctx) }()
		ended := make(chan error, 1)
		go func() { ended <- api.Run(ctx) }()
		test(ctx, &rest.Config{Host: "http://node", Transport: api.RoundTripper(), QPS: -1})
		stop()
		require.NoError(t, <-ended)
		<-n.Done()
	})
}

// TestLocalAPI_InProcess: client-go asks a node in the same process, in a bubble: a day passes
// in which an informer hears of a pod that runs for ten minutes each hour, its log is followed,
// and watches end at their times.
func TestLocalAPI_InProcess(t *testing.T) {
	inProcess(t, func(ctx context.Context, config *rest.Config) {
		ctx, stop := context.WithCancel(ctx)
		client := kubernetes.NewForConfigOrDie(config)
		pods := client.CoreV1().Pods("default")
		factory := informers.NewSharedInformerFactory(client, 0)
		l := &ledger{there: map[types.UID]string{}, said: map[string]string{}}
		_, err := factory.Core().V1().Pods().Informer().AddEventHandler(l.eventHandler())
		require.NoError(t, err)
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		began := time.Now()
		for range 24 {
			_, err := pods.Create(ctx, tenMinutePod(), metav1.CreateOptions{})
			require.NoError(t, err)
			time.Sleep(time.Minute)
			log, err := pods.GetLogs("job", &v1.PodLogOptions{Follow: true}).DoRaw(ctx)
			require.NoError(t, err)
			assert.Equal(t, "c: run=10m0s exit=0\n", string(log))
			assert.Equal(t, 10*time.Minute, time.Since(began).Truncate(time.Minute)%time.Hour)
			time.Sleep(time.Until(began.Add(time.Since(began).Truncate(time.Hour) + 30*time.Minute)))
			pod, err := factory.Core().V1().Pods().Lister().Pods("default").Get("job")
			require.NoError(t, err)
			assert.Equal(t, v1.PodSucceeded, pod.Status.Phase)
			require.NoError(t, pods.Delete(ctx, "job", metav1.DeleteOptions{}))
			time.Sleep(time.Until(began.Add(time.Since(began).Truncate(time.Hour) + time.Hour)))
		}
		assert.Equal(t, 24*time.Hour, time.Since(began))

		watch, err := pods.Watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(90))})
		require.NoError(t, err)
		for range watch.ResultChan() {
		}
		assert.Equal(t, 24*time.Hour+90*time.Second, time.Since(began))
		stop()
		factory.Shutdown()
		assert.Empty(t, l.wrong)
		assert.Equal(t, map[string]string{"job": strings.Repeat("+-", 24)}, l.said)
	})
}

// TestLocalAPI_InProcessOperator: an operator of controller-runtime works with the node in virtual time. It has
// done its work after ten minutes.
func TestLocalAPI_InProcessOperator(t *testing.T) {
	inProcess(t, func(ctx context.Context, config *rest.Config) {
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		m := newManager(t, config)
		go func() { ended <- m.Start(ctx) }()
		pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default")
		shown := func() (all string) {
			list, err := pods.List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			for _, pod := range list.Items {
				all += fmt.Sprintln(pod.Name, pod.Status.Phase, pod.Labels["example.com/ready"], pod.Finalizers)
			}
			return all
		}
		leader := followerPod(&v1.Pod{}, 0)
		leader.Name, leader.Labels = "web", map[string]string{leaderLabel: "yes"}
		_, err := pods.Create(ctx, leader, metav1.CreateOptions{})
		require.NoError(t, err)
		const all = "web Running 2 [" + finalizer + "]\nweb-follower-0 Running  []\nweb-follower-1 Running  []\n"
		time.Sleep(10 * time.Minute)
		assert.Equal(t, all, shown())
		require.NoError(t, pods.Delete(ctx, "web-follower-0", metav1.DeleteOptions{}))
		time.Sleep(10 * time.Minute)
		assert.Equal(t, all, shown())
		require.NoError(t, pods.Delete(ctx, "web", metav1.DeleteOptions{}))
		time.Sleep(10 * time.Minute)
		assert.Empty(t, shown())
		stop()
		require.NoError(t, <-ended)
	})
}

// tenMinutePod returns a pod that runs for ten minutes.
func tenMinutePod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Annotations: map[string]string{memory.AnnotationPrefix + "c": "run=10m exit=0"}},
		Spec:       v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "job:1"}}},
	}
}
