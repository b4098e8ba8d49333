package cluster_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCluster_Handler: the API server authenticates and authorizes the clients of the node's handler.
func TestCluster_Handler(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	admin := h.server.Admin()
	_, err := admin.Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}})
	require.NoError(t, err)
	pod := h.bind("plain")
	pod.Name, pod.UID, pod.ResourceVersion, pod.Spec.ServiceAccountName = "web", "", "", "default"
	pod, err = admin.CreatePod(pod)
	require.NoError(t, err)
	h.after(5 * time.Second)
	handler, err := h.node.Handler(nil)
	require.NoError(t, err)
	ask := func(path, token string) (code int) {
		h.process.Go(func() {
			if token == "own" {
				made, err := h.server.Client("n1").Tokens().CreateToken(context.Background(), "default", "default", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
					BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}})
				assert.NoError(t, err)
				token = made.Status.Token
			}
			request := httptest.NewRequest("GET", path, nil).WithContext(context.Background())
			request.Header.Set("Authorization", "Bearer "+token)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			code = answer.Code
		})
		h.after(time.Second)
		return code
	}
	assert.Equal(t, 200, ask("/healthz", ""))
	assert.Equal(t, 401, ask("/pods", ""))
	assert.Equal(t, 401, ask("/pods", "guess"))
	assert.Equal(t, 403, ask("/pods", "own"))
}
