package localapi_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
)

// TestLease: the node has a lease, as of a kubelet, that is renewed while it is healthy.
func TestLease(t *testing.T) {
	before := time.Now().Truncate(time.Microsecond)
	h := newHarness(t).startServer().waitForPods()
	const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	lease := getObject[coordinationv1.Lease](h, path+"/n1")
	assert.Equal(t, "Lease coordination.k8s.io/v1 kube-node-lease n1 40 Node", fmt.Sprint(lease.Kind, " ", lease.APIVersion, " ", lease.Namespace, " ", *lease.Spec.HolderIdentity, " ", *lease.Spec.LeaseDurationSeconds, " ", lease.OwnerReferences[0].Kind))
	assert.False(t, lease.Spec.RenewTime.Time.Before(before))
	list := getObject[coordinationv1.LeaseList](h, "/apis/coordination.k8s.io/v1/leases")
	assert.Equal(t, "LeaseList coordination.k8s.io/v1 1", fmt.Sprint(list.Kind, " ", list.APIVersion, " ", len(list.Items)))
	assert.Equal(t, `404 leases.coordination.k8s.io "n2" not found`, h.describeStatus("GET", path+"/n2", "", "json"))
	assert.Equal(t, `405 patch is not supported on resources of kind "leases.coordination.k8s.io"`, h.describeStatus("PATCH", path+"/n1", "{}", "merge-patch+json"))
	assert.Equal(t, `404 there are no leases here: this node has no cluster, and runs pods only`, h.describeStatus("GET", "/api/v1/leases", "", "json"))
	assert.Equal(t, `404 there are no pods.coordination.k8s.io here: this node has no cluster, and runs pods only`, h.describeStatus("GET", "/apis/coordination.k8s.io/v1/pods", "", "json"))
	_, text := h.sendRequest("GET", path, "", http.Header{"Accept": {asTable}})
	assert.Contains(t, text, `"cells":["n1","n1",`)
}

// TestLease_Unhealthy: a node that has never been healthy has none.
func TestLease_Unhealthy(t *testing.T) {
	h := newHarness(t)
	h.healthy = errors.New("no runtime")
	h.startServer()
	<-h.api.Ready()
	assert.Equal(t, `404 leases.coordination.k8s.io "n1" not found`, h.describeStatus("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", "", "json"))
}

// TestNoResource: a request for a kind that needs a cluster gets a message that kubectl prints: for create in the
// Status, and for apply, which reads custom resource definitions, in a warning.
func TestNoResource(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	const why = " here: this node has no cluster, and runs pods only"
	for path, want := range map[string]string{
		"/apis/apps/v1/namespaces/default/deployments":   "404 there are no deployments.apps" + why,
		"/apis/batch/v1/jobs":                            "404 there are no jobs.batch" + why,
		"/apis/x/v1/%1b":                                 "404 there are no \\x1b.x" + why,
		"/api/v1/namespaces/default/configmaps":          "404 there are no configmaps" + why,
		"/api/v1/services/a/status":                      "404 there are no services" + why,
		"/apis/x/v1/":                                    "404 the server could not find the requested resource",
		"/apis//api/v1":                                  "404 there are no v1 here: this node has no cluster, and runs pods only",
		"/apis//api/v1/pods":                             "404 there are no v1 here: this node has no cluster, and runs pods only",
		"/apis/authentication.k8s.io/v1/tokenreviews":    "404 there are no tokenreviews.authentication.k8s.io" + why,
		"/apis/authentication.k8s.io/v1beta1/self":       "404 there are no self.authentication.k8s.io" + why,
		"/api/v1/namespaces/default/pods/a/unknown":      `404 pods "a" not found`,
		"/apis/metrics.k8s.io/v1beta1/pods":              "404 the server could not find the requested resource",
		"/apis/coordination.k8s.io/v1/namespaces/x/jobs": "404 there are no jobs.coordination.k8s.io" + why,
	} {
		assert.Equal(t, want, h.describeStatus("POST", path, "{}", "json"), path)
	}
	for path, want := range map[string]string{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": `299 - "this node has no cluster, and runs pods only"`,
		"/apis/apps/v1/deployments":                               "",
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", h.url+path, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, fmt.Sprint("404 ", want), fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Warning")))
	}
}

// TestOpenAPI: the documents of version 3 describe the served kinds for kubectl explain. kubectl apply finds in them
// that the server validates fields. The document of version 2 is empty.
func TestOpenAPI(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	paths := getObject[map[string]map[string]map[string]string](h, "/openapi/v3")["paths"]
	assert.Equal(t, map[string]map[string]string{
		"api/v1":                      {"serverRelativeURL": "/openapi/v3/api/v1"},
		"apis/coordination.k8s.io/v1": {"serverRelativeURL": "/openapi/v3/apis/coordination.k8s.io/v1"},
	}, paths)
	core := getObject[document](h, paths["api/v1"]["serverRelativeURL"])
	pod := core.Components.Schemas["io.k8s.api.core.v1.Pod"]
	assert.Equal(t, []map[string]string{{"group": "", "version": "v1", "kind": "Pod"}}, pod.Kinds)
	assert.Equal(t, "What the fields mean: https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#pod-v1-core", pod.Description)
	assert.Equal(t, "Pod", core.Paths["/api/v1/namespaces/{namespace}/pods"]["get"].Kind["kind"])
	assert.Equal(t, "Node", core.Paths["/api/v1/nodes"]["get"].Kind["kind"])
	assert.Equal(t, "fieldValidation", core.Paths["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"].Parameters[0].Name)
	spec := core.Components.Schemas["io.k8s.api.core.v1.PodSpec"]
	assert.Equal(t, []string{"containers"}, spec.Required)
	for field, want := range map[string]string{
		"containers": "array of Container", "nodeSelector": "map of string", "hostNetwork": "boolean", "priority": "int32",
		"terminationGracePeriodSeconds": "int64", "affinity": "Affinity", "overhead": "map of string", "restartPolicy": "string",
	} {
		assert.Equal(t, want, spec.Properties[field].String(), field)
	}
	meta := core.Components.Schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
	assert.Equal(t, "date-time", meta.Properties["creationTimestamp"].String())
	assert.Equal(t, "int-or-string", core.Components.Schemas["io.k8s.api.core.v1.HTTPGetAction"].Properties["port"].String())
	assert.Equal(t, "HTTPGetAction", core.Components.Schemas["io.k8s.api.core.v1.Probe"].Properties["httpGet"].String(), "of a struct that is inline")
	assert.Contains(t, meta.Description, "#objectmeta-v1-meta")
	leases := getObject[document](h, paths["apis/coordination.k8s.io/v1"]["serverRelativeURL"])
	assert.Contains(t, leases.Components.Schemas["io.k8s.api.coordination.v1.LeaseSpec"].Description, "#leasespec-v1-coordination-k8s-io")
	assert.Equal(t, []map[string]string{{"group": "coordination.k8s.io", "version": "v1", "kind": "Lease"}}, leases.Components.Schemas["io.k8s.api.coordination.v1.Lease"].Kinds)

	_, text := h.sendRequest("GET", "/openapi/v2", "", http.Header{"Accept": {"application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}})
	assert.Equal(t, "\n\x032.0", text)
	assert.Contains(t, h.getText("/openapi/v2"), `"swagger":"2.0"`)
	assert.Equal(t, "404 the server could not find the requested resource", h.describeStatus("GET", "/openapi/v3/apis/apps/v1", "", "json"))
}

// document has the fields of an OpenAPI document that the tests read.
type document struct {
	Paths map[string]map[string]struct {
		Kind       map[string]string `json:"x-kubernetes-group-version-kind"`
		Parameters []struct{ Name string }
	}
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Kinds                       []map[string]string `json:"x-kubernetes-group-version-kind"`
	Type, Format, Description   string
	Ref                         string `json:"$ref"`
	Required                    []string
	Properties                  map[string]schema
	Items, AdditionalProperties *schema
	AllOf                       []schema
}

func (s schema) String() string {
	switch {
	case s.Ref != "":
		return path.Ext(s.Ref)[1:]
	case len(s.AllOf) == 1:
		return s.AllOf[0].String()
	case s.Items != nil:
		return "array of " + s.Items.String()
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.String()
	}
	return cmp.Or(s.Format, s.Type)
}
