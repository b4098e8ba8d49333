package operatortest_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] // The other one waits by a time that real and virtual time share.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/onsi/ginkgo/v2/internal/interrupt_handler.(*InterruptHandler).registerForInterrupts.func2"))
}

// TestInMemory runs the situations at an API server in memory, in virtual time.
func TestInMemory(t *testing.T) {
	for name, situation := range situations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := apiservertest.New(apiservertest.Config{Resources: []metav1.APIResource{siteResource}})
				situation(newAPIEnv(t, &rest.Config{Host: "http://memory", Transport: server.RoundTripper(), QPS: -1}, 10*time.Minute))
			})
		})
	}
}

// siteResource is the custom resource for the API server in memory.
var siteResource = metav1.APIResource{
	Group: operatortest.GroupVersion.Group, Version: operatortest.GroupVersion.Version, Kind: "Site", Name: "sites", Namespaced: true, Verbs: metav1.Verbs{"status"},
}

// TestAPIServer runs the situations at a real API server.
func TestAPIServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it is the directory with etcd and kube-apiserver for envtest")
	}
	config := startEnvtest(t)
	for name, situation := range situations {
		t.Run(name, func(t *testing.T) { situation(newAPIEnv(t, config, time.Minute)) })
	}
}

// TestSimulation runs the situations with the fake client and nodetest.
func TestSimulation(t *testing.T) {
	for name, situation := range situations {
		t.Run(name, func(t *testing.T) { situation(newSimulationEnv(t)) })
	}
}

// env is what a situation uses: a client, and two nodes named node-0 and node-1.
type env struct {
	testing.TB
	client.Client
	// wait waits until a condition holds. It returns false if the condition does not hold in time.
	wait func(holds func() bool) bool
	now  func() time.Time
	// node returns a running node.
	node func(name string) *node.Node
	// lose stops a node and reports what a control plane reports then. evictFrom deletes the pods of a lost node. cordon
	// makes a node unschedulable.
	lose, evictFrom, cordon func(name string)
}

func (e *env) check(err error) {
	e.Helper()
	require.NoError(e, err)
}

// createSite creates the Site "site", whose pods have the spec and the scripts of a builder.
func (e *env) createSite(replicas int, b *podtest.PodBuilder) {
	e.Helper()
	pod := b.Build(e)
	site := &operatortest.Site{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site"}}
	site.Spec.Replicas = replicas
	site.Spec.Template.Annotations, site.Spec.Template.Spec = pod.Annotations, pod.Spec
	e.check(e.Create(e.Context(), site))
}

// awaitStatus waits until the status of the Site is as wanted.
func (e *env) awaitStatus(what string, wanted func(operatortest.SiteStatus) bool) {
	e.Helper()
	site := &operatortest.Site{}
	if !e.wait(func() bool {
		e.check(e.Get(e.Context(), client.ObjectKey{Namespace: "default", Name: "site"}, site))
		return wanted(site.Status)
	}) {
		e.Fatalf("%s did not come: the status is %+v, the pods are %s", what, site.Status, e.describePods())
	}
}

// awaitPods waits until n pods are as wanted.
func (e *env) awaitPods(what string, n int, wanted func(*v1.Pod) bool) {
	e.Helper()
	if !e.wait(func() bool { return len(e.pods(wanted)) == n }) {
		e.Fatalf("%s did not come: the pods are %s", what, e.describePods())
	}
}

// pods returns the pods that are as wanted and are not being deleted.
func (e *env) pods(wanted func(*v1.Pod) bool) (pods []*v1.Pod) {
	e.Helper()
	var list v1.PodList
	e.check(e.List(e.Context(), &list, client.InNamespace("default")))
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil && wanted(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// describePods returns the pods with their nodes and phases.
func (e *env) describePods() (text string) {
	for _, pod := range e.pods(func(*v1.Pod) bool { return true }) {
		text += pod.Name + " " + pod.Spec.NodeName + " " + string(pod.Status.Phase) + "; "
	}
	return text
}

// isReady reports whether the condition Ready of a pod is true.
func isReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// evictForPressure evicts a pod as its node does under memory pressure.
func (e *env) evictForPressure(pod *v1.Pod) {
	e.Helper()
	_, err := e.node(pod.Spec.NodeName).Evict(pod.UID, node.Eviction{Message: "The node was low on resource: memory."})
	e.check(err)
}

// atLeast fails the test if a duration is too short.
func (e *env) atLeast(want, got time.Duration) {
	e.Helper()
	require.GreaterOrEqual(e, got, want)
}

// background is a context for calls at the end of a test.
var background = context.Background()
