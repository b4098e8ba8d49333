package localapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// TestEvict: an eviction is a deletion with the options that it brings.
func TestEvict(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer(staticPod("default", "web-n1")).waitForPods()
	running := newPod("default", "a")
	running.UID = h.createPod(simple).UID
	h.mu.Lock()
	h.pods = append(h.pods, running)
	h.mu.Unlock()
	w.takeCalls()
	const eviction = `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a","namespace":"default"},"deleteOptions":`
	for _, step := range []struct{ body, want, told string }{
		{eviction + `{"dryRun":["All"]}}`, "201 ", "[]"},
		{eviction + `{"preconditions":{"uid":"other"}}}`, `409 Operation cannot be fulfilled on pods "a": Precondition failed: UID in precondition: other, UID in object meta: `, "[]"},
		{`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, "400 the body is a Pod: expected a Eviction", "[]"},
		{`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"b"}}`, "400 the name of the Eviction does not match the name on the URL", "[]"},
		{eviction + `{"gracePeriodSeconds":5}}`, "201 ", "[apply a x:1 end 5]"},
		{eviction + `null}`, "201 ", "[]"},
		{eviction + `{"gracePeriodSeconds":2}}`, "201 ", "[apply a x:1 end 2]"},
	} {
		got := h.describeStatus("POST", pods+"/a/eviction", step.body, "json")
		assert.Equal(t, step.want, got[:min(len(got), len(step.want))], got)
		assert.Equal(t, step.told, fmt.Sprint(w.takeCalls()), step.body)
	}
	code, text := h.sendRequest("POST", pods+"/a/eviction", `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"a"}}`, nil)
	assert.Equal(t, `201 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`+"\n", fmt.Sprint(code, " ", text))
	assert.Equal(t, `405 pod "web-n1" is a static pod: change or remove its manifest`, h.describeStatus("POST", pods+"/web-n1/eviction", `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"web-n1"}}`, "json"))
	assert.Equal(t, `404 pods "b" not found`, h.describeStatus("POST", pods+"/b/eviction", `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"b"}}`, "json"))
	assert.Equal(t, `405 get is not supported on resources of kind "pods/eviction"`, h.describeStatus("GET", pods+"/a/eviction", "", "json"))
	assert.Equal(t, `405 delete is not supported on resources of kind "pods/eviction"`, h.describeStatus("DELETE", pods+"/a/eviction", "", "json"))
}

// TestEvict_Protobuf: controller-runtime sends an Eviction so. It has the bounds of all bodies.
func TestEvict_Protobuf(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	running := newPod("default", "a")
	running.UID = h.createPod(simple).UID
	h.mu.Lock()
	h.pods = append(h.pods, running)
	h.mu.Unlock()
	w.takeCalls()
	evict := func(change func(*policyv1.Eviction)) string {
		e := &policyv1.Eviction{
			TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"},
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: new(int64(3))},
		}
		change(e)
		var text bytes.Buffer
		require.NoError(t, protobuf.NewSerializer(nil, nil).Encode(e, &text))
		return h.describeStatus("POST", pods+"/a/eviction", text.String(), "vnd.kubernetes.protobuf")
	}
	assert.Equal(t, `400 the name of the Eviction does not match the name on the URL`, evict(func(e *policyv1.Eviction) { e.Name = "b" }))
	assert.Equal(t, "413 Request entity too large: limit is 20000 values", evict(func(e *policyv1.Eviction) { e.OwnerReferences = make([]metav1.OwnerReference, 30_000) }))
	assert.Contains(t, evict(func(e *policyv1.Eviction) { e.DeleteOptions.Preconditions = metav1.NewUIDPreconditions("other") }), "409 ")
	assert.Empty(t, w.takeCalls())
	assert.Equal(t, "201 ", evict(func(*policyv1.Eviction) {}))
	assert.Equal(t, []string{"apply a x:1 end 3"}, w.takeCalls())
	assert.Equal(t, "201 ", evict(func(e *policyv1.Eviction) { e.DeleteOptions = nil }))
	assert.Empty(t, w.takeCalls())
}

// TestEvict_Discovery: kubectl drain evicts if pods/eviction has the group of Eviction, and else
// deletes. A server that is read only has none.
func TestEvict_Discovery(t *testing.T) {
	find := func(h *harness) (found []metav1.APIResource) {
		for _, r := range getObject[metav1.APIResourceList](h, "/api/v1").APIResources {
			if r.Kind == "Eviction" {
				found = append(found, r)
			}
		}
		return found
	}
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	assert.Equal(t, []metav1.APIResource{{Name: "pods/eviction", Namespaced: true, Group: "policy", Version: "v1", Kind: "Eviction", Verbs: metav1.Verbs{"create"}}}, find(h))
	_, text := h.sendRequest("GET", "/api", "", http.Header{"Accept": {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}})
	assert.Contains(t, text, `{"subresource":"eviction","responseKind":{"group":"policy","version":"v1","kind":"Eviction"},"verbs":["create"]}`)

	readOnly := newHarness(t).startServer(newPod("default", "a")).waitForPods()
	assert.Empty(t, find(readOnly))
	assert.Equal(t, `405 this server is read only: create is not supported on resources of kind "pods/eviction"`, readOnly.describeStatus("POST", pods+"/a/eviction", `{}`, "json"))
}
