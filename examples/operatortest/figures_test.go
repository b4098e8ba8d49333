package operatortest_test

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

var figurePods = flag.Int("figure-pods", 40, "number of pods of TestFigures_Pods, with twenty on a node")

// TestFigures_Pods: the operator creates many pods, and all become ready. With -v the test logs what they cost:
//
//	go test -run TestFigures_Pods -v . -figure-pods 1000
func TestFigures_Pods(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{Resources: []metav1.APIResource{siteResource}})
		config := &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}
		scheme := runtime.NewScheme()
		require.NoError(t, operatortest.AddToScheme(scheme))
		direct, err := client.New(config, client.Options{Scheme: scheme})
		require.NoError(t, err)
		startManager(t, config, scheme)
		clustertest.StartNodes(t, config, max(*figurePods/20, 1))
		e := &env{TB: t, Client: direct, wait: func(holds func() bool) bool {
			for range 600 {
				if time.Sleep(time.Second); holds() {
					return true
				}
			}
			return false
		}}
		e.createSite(*figurePods, podtest.Pod("p").Container("c"))
		e.awaitStatus("all pods", func(s status) bool { return s.Ready == *figurePods })
	})
	t.Logf("%d pods: it took %s of real time", *figurePods, time.Since(began).Round(100*time.Millisecond))
}
