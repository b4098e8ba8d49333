package objects_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

var _ podsync.Services = (*objects.Services)(nil)

// VC-30, VC-31: services are followed by one watch; a pod waits until they were read once, a
// static pod does not.
func TestServices_VC30_VC31(t *testing.T) {
	n := newNode(t)
	s, err := objects.NewServices(objects.Config{Objects: n.server.Client("n1").Objects(), Clock: n.process.Clock(), Jitter: func() float64 { return 0 }})
	require.NoError(t, err)
	ctx, cancel := executor.WithCancel(context.Background())
	n.server.Down()
	n.process.Go(func() { _ = s.Run(ctx) })
	n.RunUntil(n.Now().Add(time.Second))
	require.ErrorIs(t, s.Run(t.Context()), feed.ErrAlreadyRunning)
	web := n.pod("web", v1.PodSpec{})
	static := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", Annotations: map[string]string{podmanager.ConfigSourceAnnotation: "file"}}}
	get := func(pod *v1.Pod) (answer string) {
		n.process.Go(func() {
			began := n.Now()
			found, err := s.Services(context.Background(), pod)
			var names []string
			for _, one := range found {
				names = append(names, one.Namespace+"/"+one.Name)
			}
			answer = fmt.Sprint(names, " ", err, " after ", n.Now().Sub(began))
		})
		n.RunUntil(n.Now().Add(15 * time.Second))
		return answer
	}
	require.Equal(t, "[] objects: the services were not read yet: context deadline exceeded after 10s", get(web))
	require.Equal(t, "[] <nil> after 0s", get(static))
	n.server.Up()
	n.RunUntil(n.Now().Add(time.Minute))
	require.Equal(t, "[] <nil> after 0s", get(web), "there are none")
	for _, named := range [][2]string{{"default", "db"}, {"default", "kubernetes"}, {"kube-system", "dns"}, {"default", "headless"}} {
		service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: named[0], Name: named[1]}, Spec: v1.ServiceSpec{ClusterIP: "10.0.0.1"}}
		if service.Name == "headless" {
			service.Spec.ClusterIP = v1.ClusterIPNone
		}
		_, err := n.server.Admin().Create(t.Context(), service)
		require.NoError(t, err)
	}
	n.RunUntil(n.Now().Add(time.Second))
	require.Equal(t, "[default/db default/kubernetes] <nil> after 0s", get(web))
	web.Namespace = "kube-system"
	require.Equal(t, "[default/db default/kubernetes kube-system/dns] <nil> after 0s", get(web))
	require.Len(t, n.server.Watches(), 1)
	cancel()
	n.cancel()
	n.RunUntil(n.Now().Add(time.Second))
	require.Zero(t, n.process.Running())
	require.Empty(t, n.server.Watches())
	_, err = objects.NewServices(objects.Config{})
	require.EqualError(t, err, "objects: Config.Objects is nil")
}
