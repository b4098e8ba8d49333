package apiservertest_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

const (
	applyPatch      = "PATCH:apply-patch+yaml"
	deploymentsPath = "/apis/apps/v1/namespaces/default/deployments"
)

var deployments = metav1.APIResource{Group: "apps", Version: "v1", Kind: "Deployment", Name: "deployments", Namespaced: true, Verbs: metav1.Verbs{"status"}}

// overHTTPWith runs a test in a bubble with a server of this Config.
func overHTTPWith(t *testing.T, config apiservertest.Config, test func(h *httpHarness)) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(config)
		test(&httpHarness{t, server, &http.Client{Transport: server.RoundTripper()}})
	})
}

// applySite is the begin of the configuration of a Site.
const applySite = `{"apiVersion":"example.com/v1","kind":"Site","metadata":{"name":"a"},`

// TestApply_CustomResource: an applied configuration creates an object, removes the fields that a later configuration
// does not have, and conflicts with the fields of another manager unless it has force.
func TestApply_CustomResource(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		const path = sitesPath + "/a?fieldManager=one"
		h.requireResponse(applyPatch, sitesPath+"/a", applySite+`"spec":{}}`, 400, "fieldManager is required")
		h.requireResponse(applyPatch, path, "[", 400, "the applied configuration cannot be read")
		h.requireResponse(applyPatch, path, `{"kind":"Zone","apiVersion":"example.com/v1"}`, 400, "invalid object type")
		h.requireResponse(applyPatch, sitesPath+"/a/status?fieldManager=one", applySite+`"status":{}}`, 404, "not found")
		h.requireResponse(applyPatch, path, `{"apiVersion":"example.com/v1","kind":"Site","metadata":{"uid":"x"}}`, 409, "uid mismatch")
		h.requireResponse(applyPatch, path, applySite+`"spec":{"replicas":2,"color":"red","list":[1]},"status":{"ready":1}}`, 201, `"generation":1`)
		_, created := h.sendRequest("GET", sitesPath+"/a", "")
		assert.NotContains(h, created, `"status":`, "a client cannot create a status")
		_, again := h.sendRequest(applyPatch, path, applySite+`"spec":{"replicas":2,"color":"red","list":[1]}}`)
		assert.Equal(h, created, again, "the same configuration changes nothing")
		h.requireResponse(applyPatch, path, "apiVersion: example.com/v1\nkind: Site\nspec: {replicas: 3, list: [2]}\n", 200, `"spec":{"list":[2],"replicas":3}`)

		h.requireResponse(applyPatch, sitesPath+"/a?fieldManager=two", applySite+`"spec":{"replicas":4}}`, 409, `conflict with \"one\"`)
		h.requireResponse(applyPatch, sitesPath+"/a?fieldManager=two", applySite+`"spec":{"replicas":3,"size":"big"}}`, 200, `"size":"big"`)
		h.requireResponse(applyPatch, path, applySite+`"spec":{}}`, 200, `"spec":{"replicas":3,"size":"big"}`)
		h.requireResponse(applyPatch, path+"&force=true", applySite+`"spec":{"replicas":5}}`, 200, `"replicas":5`)
		h.requireResponse(applyPatch, sitesPath+"/a?fieldManager=two", applySite+`"spec":{}}`, 200, `"spec":{"replicas":5}`)

		h.requireResponse(applyPatch, sitesPath+"/a/status?fieldManager=one", applySite+`"spec":{"replicas":9},"status":{"ready":3}}`, 200, `"spec":{"replicas":5},"status":{"ready":3}`)
		h.requireResponse(applyPatch, path, applySite+`"spec":{"replicas":5},"status":{"ready":4}}`, 200, `"status":{"ready":3}`)
		h.requireResponse(applyPatch, path, `{"apiVersion":"example.com/v1","kind":"Site","metadata":{"resourceVersion":"1"}}`, 409, "the object has been modified")
	})
}

// TestApply_Updates: an update takes the ownership of the fields that it changes. The manager of an object that was never
// applied is before-first-apply.
func TestApply_Updates(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		h.requireResponse("POST", sitesPath, applySite+`"spec":{"replicas":1}}`, 201, `"replicas":1`)
		h.requireResponse("PATCH:merge-patch+json", sitesPath+"/a?fieldManager=editor", `{"spec":{"color":"red"}}`, 200, `"color":"red"`)
		_, text := h.sendRequest("GET", sitesPath+"/a", "")
		assert.NotContains(h, text, "managedFields")
		h.requireResponse(applyPatch, sitesPath+"/a?fieldManager=one", applySite+`"spec":{"replicas":2}}`, 409, `conflict with \"before-first-apply\"`)
		h.requireResponse(applyPatch, sitesPath+"/a?fieldManager=one&force=true", applySite+`"spec":{"replicas":2}}`, 200, `"manager":"one"`)
		h.requireResponse("PATCH:merge-patch+json", sitesPath+"/a?fieldManager=editor", `{"spec":{"replicas":7}}`, 200, `"manager":"editor"`)
		h.requireResponse(applyPatch, sitesPath+"/a?fieldManager=one", applySite+`"spec":{"replicas":2}}`, 409, `conflict with \"editor\"`)
		h.requireResponse("PUT", sitesPath+"/a/status", applySite+`"status":{"ready":1}}`, 200, `"manager":"test","operation":"Update","subresource":"status"`)
		h.requireResponse("PUT", sitesPath+"/a", applySite+`"spec":{"replicas":8}}`, 200, `"spec":{"replicas":8},"status":{"ready":1}`)
		h.requireResponse(applyPatch, sitesPath+"/a?fieldManager=one", applySite+`"spec":{"replicas":2}}`, 409, `conflict with \"test\"`)
	})
}

// TestApply_NoTypeConverter: without a TypeConverter, the server refuses to apply an object of Kubernetes. It refuses an
// object that exists and one that does not exist in the same way. It refuses an unknown patch type likewise.
func TestApply_NoTypeConverter(t *testing.T) {
	overHTTPWith(t, apiservertest.Config{Resources: []metav1.APIResource{deployments}}, func(h *httpHarness) {
		h.requireResponse("POST", podsPath, webPod, 201, "web")
		for _, path := range []string{podsPath + "/web", podsPath + "/none"} {
			h.requireResponse(applyPatch, path+"?fieldManager=a", `{}`, 415, "package apiservertest applies pods only if Config.TypeConverter is set: use NewTypeConverter of k8s.io/client-go/applyconfigurations")
			h.requireResponse("PATCH:apply-patch+cbor", path, `{}`, 415, `does not apply a patch of the type \"application/apply-patch+cbor\" to pods`)
		}
		h.requireResponse(applyPatch, deploymentsPath+"/d?fieldManager=a", `{}`, 415, "package apiservertest applies deployments only if Config.TypeConverter is set")
	})
}

// podSchema is a part of the schema of pods: containers are merged by name.
const podSchema = `
types:
- name: io.k8s.api.core.v1.Pod
  map:
    fields:
    - {name: apiVersion, type: {scalar: string}}
    - {name: kind, type: {scalar: string}}
    - {name: metadata, type: {namedType: any}}
    - {name: status, type: {namedType: any}}
    - name: spec
      type: {namedType: spec}
- name: spec
  map:
    fields:
    - name: containers
      type:
        list: {elementType: {namedType: any}, elementRelationship: associative, keys: [name]}
    elementType: {namedType: any}
- name: any
  scalar: untyped
  list: {elementType: {namedType: any}, elementRelationship: atomic}
  map: {elementType: {namedType: any}, elementRelationship: separable}
`

// TestApply_TypeConverter: the schema of the TypeConverter merges the containers of a pod by name.
func TestApply_TypeConverter(t *testing.T) {
	parser, err := typed.NewParser(podSchema)
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	overHTTPWith(t, apiservertest.Config{TypeConverter: managedfields.NewSchemeTypeConverter(scheme, parser)}, func(h *httpHarness) {
		h.requireResponse(applyPatch, podsPath+"/web?fieldManager=one", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"web:1"},{"name":"d","image":"log:1"}]}}`, 201, `"phase":"Pending"`)
		h.requireResponse(applyPatch, podsPath+"/web?fieldManager=two", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"b"}},"spec":{"containers":[{"name":"d","image":"log:2"}]}}`, 409, `conflict with \"one\"`)
		h.requireResponse(applyPatch, podsPath+"/web?fieldManager=two&force=true", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"b"}},"spec":{"containers":[{"name":"d","image":"log:2"}]}}`, 200, `"a":"b"`)
		pod := h.server.Admin().Pod("default", "web")
		require.Len(h, pod.Spec.Containers, 2)
		assert.Equal(h, []string{"web:1", "log:2"}, []string{pod.Spec.Containers[0].Image, pod.Spec.Containers[1].Image})
		assert.Equal(h, "default", pod.Spec.ServiceAccountName)
	})
}

// marshalProtobuf returns an object as a typed client sends it.
func marshalProtobuf(t *testing.T, o interface{ Marshal() ([]byte, error) }) string {
	t.Helper()
	raw, err := o.Marshal()
	require.NoError(t, err)
	envelope, err := (&runtime.Unknown{Raw: raw}).Marshal()
	require.NoError(t, err)
	return "k8s\x00" + string(envelope)
}

// TestResources_Kubernetes: a resource of Kubernetes in Config.Resources accepts protobuf and strategic merge patches,
// because typed clients send them. A custom resource refuses protobuf with one sentence.
func TestResources_Kubernetes(t *testing.T) {
	sites := metav1.APIResource{Group: "example.com", Version: "v1", Kind: "Site", Name: "sites", Namespaced: true}
	overHTTPWith(t, apiservertest.Config{Resources: []metav1.APIResource{deployments, sites}}, func(h *httpHarness) {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		d.Spec.Replicas = new(int32(3))
		d.Spec.Template.Spec.Containers = []v1.Container{{Name: "c", Image: "web:1"}, {Name: "d", Image: "log:1"}}
		h.requireResponse("POST:vnd.kubernetes.protobuf", deploymentsPath, marshalProtobuf(h.T, d), 201, `"kind":"Deployment"`)
		h.requireResponse("GET", deploymentsPath+"/web", "", 200, `"replicas":3`)
		h.requireResponse("PATCH:strategic-merge-patch+json", deploymentsPath+"/web", `{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"log:2"}]}}}}`, 200, `"image":"web:1"`)
		d.Spec.Replicas = new(int32(4))
		h.requireResponse("PUT:vnd.kubernetes.protobuf", deploymentsPath+"/web", marshalProtobuf(h.T, d), 200, `"replicas":4`)
		h.requireResponse("POST:vnd.kubernetes.protobuf", deploymentsPath, "k8s\x00\xff", 400, "the body cannot be read")
		h.requireResponse("POST:vnd.kubernetes.protobuf", sitesPath, marshalProtobuf(h.T, d), 415, "package apiservertest reads sites only as JSON, because it has no Go type for them: set ContentType of the rest.Config to application/json")
	})
}
