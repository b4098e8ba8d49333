package operatortest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// newAPIEnv starts the operator and two nodes at an API server. They stop at the end of the test, which then deletes the
// Site and its pods.
func newAPIEnv(t testing.TB, config *rest.Config, limit time.Duration) *env {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, operatortest.AddToScheme(scheme))
	httpClient, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(httpClient.Transport) })
	direct, err := client.New(config, client.Options{Scheme: scheme, HTTPClient: httpClient})
	require.NoError(t, err)
	t.Cleanup(func() { deleteAll(t, direct) })
	startManager(t, config, scheme)
	nodes := clustertest.StartNodes(t, config, 2)
	e := &env{TB: t, Client: direct, now: time.Now}
	e.lose = func(name string) { nodes.Node(name).Lose() }
	e.evictFrom = func(name string) { nodes.Node(name).EvictPods() }
	e.node = func(name string) *node.Node { return nodes.Node(name).Cluster().Node() }
	e.cordon = func(name string) {
		object := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		e.check(direct.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`))))
		e.wait(func() bool { return nodes.Node(name).Cluster().Object().Spec.Unschedulable })
	}
	e.wait = func(holds func() bool) bool {
		for began := time.Now(); time.Since(began) < limit; time.Sleep(50 * time.Millisecond) {
			if holds() {
				return true
			}
		}
		return false
	}
	return e
}

// startManager runs the operator in a manager of controller-runtime until the end of the test. It returns the manager.
//
// SkipNameValidation permits a second manager with a controller of the same name: controller-runtime remembers the names of
// the whole process. The bind addresses "0" switch the listeners off. In a bubble, virtual time stands still while a
// goroutine waits for a connection. Connections to a real API server are closed, because each idle one has goroutines. The
// API server in memory has no connections.
func startManager(t testing.TB, config *rest.Config, scheme *runtime.Scheme) manager.Manager {
	t.Helper()
	m, err := manager.New(config, manager.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Controller: crconfig.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	require.NoError(t, (&operatortest.Reconciler{Client: m.GetClient()}).SetupWithManager(m))
	ctx, cancel := context.WithCancel(background)
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		utilnet.CloseIdleConnectionsFor(m.GetHTTPClient().Transport)
	})
	return m
}

// deleteAll deletes the Site, its pods and the nodes, so that the next test begins without them.
func deleteAll(t testing.TB, c client.Client) {
	t.Helper()
	require.NoError(t, c.DeleteAllOf(background, &operatortest.Site{}, client.InNamespace("default")))
	require.NoError(t, c.DeleteAllOf(background, &v1.Pod{}, client.InNamespace("default"), client.GracePeriodSeconds(0)))
	require.NoError(t, c.DeleteAllOf(background, &v1.Node{}))
}

// startEnvtest starts etcd and kube-apiserver with the custom resource.
func startEnvtest(t *testing.T) *rest.Config {
	t.Helper()
	preserve := true
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "sites." + operatortest.GroupVersion.Group}}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: operatortest.GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "sites", Singular: "site", Kind: "Site", ListKind: "SiteList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: operatortest.GroupVersion.Version, Served: true, Storage: true,
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}},
		}},
	}
	environment := &envtest.Environment{CRDInstallOptions: envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}}
	config, err := environment.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, environment.Stop()) })
	return config
}
