package operatortest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// TestEventRecorder: the recorders of a manager record events at the API server in memory. GetEventRecorder writes to
// events.k8s.io and GetEventRecorderFor to core/v1. Clients read both kinds in either group.
func TestEventRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{Resources: []metav1.APIResource{siteResource}})
		config := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}
		scheme := runtime.NewScheme()
		require.NoError(t, operatortest.AddToScheme(scheme))
		m := startManager(t, config, scheme)
		client := kubernetes.NewForConfigOrDie(config)
		pod, err := client.CoreV1().Pods("default").Create(t.Context(), podtest.Pod("web").Container("c").Build(t), metav1.CreateOptions{})
		require.NoError(t, err)

		recorder := m.GetEventRecorder("site")
		for range 3 {
			recorder.Eventf(pod, nil, v1.EventTypeNormal, "Scaled", "Scaling", "%d pods", 2)
			time.Sleep(time.Second) // Virtual. Two events of a pod at the same instant have the same name.
		}
		m.GetEventRecorderFor("site").Event(pod, v1.EventTypeNormal, "Old", "of core/v1")
		time.Sleep(13 * time.Minute) // The second event of a series writes its count. Later ones wait for up to 12 minutes.

		events, err := client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 2)
		require.Equal(t, "Scaled 2 pods", events.Items[0].Reason+" "+events.Items[0].Note)
		require.EqualValues(t, 3, events.Items[0].Series.Count)
		core, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=web"})
		require.NoError(t, err)
		require.Len(t, core.Items, 2)
		require.Equal(t, "Scaled 2 pods, Old of core/v1", core.Items[0].Reason+" "+core.Items[0].Message+", "+core.Items[1].Reason+" "+core.Items[1].Message)
	})
}
