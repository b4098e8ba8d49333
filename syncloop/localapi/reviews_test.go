package localapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// reviewResource posts a review and reads the answer.
func reviewResource[T any](h *harness, path string, spec any) (value T) {
	h.Helper()
	body, err := json.Marshal(spec)
	require.NoError(h, err)
	code, text := h.sendRequest("POST", path, string(body), nil)
	require.Equal(h, http.StatusCreated, code, text)
	require.NoError(h, json.Unmarshal([]byte(text), &value))
	return value
}

// TestReviewUser: who asks is answered, as kubectl auth whoami wants it.
func TestReviewUser(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	got := reviewResource[authenticationv1.SelfSubjectReview](h, path, struct{}{})
	assert.Equal(t, "SelfSubjectReview authentication.k8s.io/v1", got.Kind+" "+got.APIVersion)
	assert.Equal(t, authenticationv1.UserInfo{Username: "podkeel", Groups: []string{"system:masters", "system:authenticated"}}, got.Status.UserInfo)
	assert.Equal(t, `405 get is not supported on resources of kind "selfsubjectreviews.authentication.k8s.io"`, h.describeStatus("GET", path, "", "json"))
	assert.Equal(t, `400 the body is a Pod: expected a SelfSubjectReview`, h.describeStatus("POST", path, `{"apiVersion":"v1","kind":"Pod"}`, "json"))
	assert.Equal(t, "413 Request entity too large: limit is 1048576", h.describeStatus("POST", path, strings.Repeat(" ", 4<<20), "json"))
}

// TestReviewAccess: the served verbs are allowed, and a read-only server gives its own reason.
func TestReviewAccess(t *testing.T) {
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	may := func(h *harness, spec authorizationv1.SelfSubjectAccessReviewSpec) string {
		got := reviewResource[authorizationv1.SelfSubjectAccessReview](h, path, authorizationv1.SelfSubjectAccessReview{Spec: spec})
		return fmt.Sprint(got.Status.Allowed, " ", got.Status.Reason)
	}
	resource := func(verb, group, resource, sub string) authorizationv1.SelfSubjectAccessReviewSpec {
		return authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: sub}}
	}
	url := func(verb, path string) authorizationv1.SelfSubjectAccessReviewSpec {
		return authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path}}
	}
	reads := newHarness(t).startServer().waitForPods()
	writes, _ := newWritableAPI(t, t.TempDir())
	writes.startServer().waitForPods()
	for _, c := range []struct {
		spec          authorizationv1.SelfSubjectAccessReviewSpec
		reads, writes string
	}{
		{resource("list", "", "pods", ""), "true ", "true "},
		{resource("get", "", "pods", "log"), "true ", "true "},
		{resource("delete", "", "pods", ""), "false this server is read only", "true "},
		{resource("patch", "", "pods", "ephemeralcontainers"), "false this server is read only", "true "},
		{resource("create", "", "pods", "eviction"), "false this server is read only", "true "},
		{resource("patch", "", "pods", "resize"), "false this server is read only", "true "},
		{resource("patch", "", "pods", "status"), "false this server is read only", "true "},
		{resource("delete", "", "nodes", ""), "false this server does not serve it", "false this server does not serve it"},
		{resource("list", "apps", "pods", ""), "false this server does not serve it", "false this server does not serve it"},
		{resource("get", "coordination.k8s.io", "leases", ""), "true ", "true "},
		{resource("*", "*", "*", ""), "false this server does not serve it", "false this server does not serve it"},
		{url("get", "/version"), "true ", "true "},
		{url("get", "/apis/apps"), "true ", "true "},
		{url("get", "/metrics"), "false this server does not serve it", "false this server does not serve it"},
		{url("post", "/version"), "false this server does not serve it", "false this server does not serve it"},
		{authorizationv1.SelfSubjectAccessReviewSpec{}, "false this server does not serve it", "false this server does not serve it"},
	} {
		assert.Equal(t, c.reads, may(reads, c.spec), c.spec)
		assert.Equal(t, c.writes, may(writes, c.spec), c.spec)
	}
}

// TestReviewRules: all that may be done, as kubectl auth can-i --list wants it.
func TestReviewRules(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	got := reviewResource[authorizationv1.SelfSubjectRulesReview](h, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
		authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}})
	assert.False(t, got.Status.Incomplete)
	var lines []string
	for _, r := range got.Status.ResourceRules {
		lines = append(lines, fmt.Sprint(r.Verbs, r.APIGroups, r.Resources))
	}
	assert.Equal(t, []string{
		"[get list watch] [] [pods]", "[create get] [] [pods/attach]", "[create get] [] [pods/exec]", "[get] [] [pods/log]",
		"[create get] [] [pods/portforward]", "[get] [] [pods/status]",
		"[get list watch] [] [events]", "[get list watch] [] [nodes]", "[get list watch] [] [namespaces]",
		"[create] [authentication.k8s.io] [selfsubjectreviews]",
		"[create] [authorization.k8s.io] [selfsubjectaccessreviews]", "[create] [authorization.k8s.io] [selfsubjectrulesreviews]",
		"[get list watch] [coordination.k8s.io] [leases]", "[get list watch] [events.k8s.io] [events]",
	}, lines)
	assert.Equal(t, []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{
		"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi/*", "/readyz", "/version",
	}}}, got.Status.NonResourceRules)
}
