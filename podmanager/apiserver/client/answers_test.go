package client_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/apiserver"
	"github.com/podkeel/podkeel/podmanager/apiserver/patch"
)

// TestCalls_OtherAnswers: an answer of 200 that is not the object or the whole list that was asked
// for is an error that is tried again. An empty list would stop all pods of the node, and an empty
// review or token would be taken for one.
func TestCalls_OtherAnswers(t *testing.T) {
	const list = `{"kind":"PodList","apiVersion":"v1","metadata":{%s},"items":[]}`
	for name, body := range map[string]string{
		"nothing": "", "null": `null`, "no kind": `{}`, "a list": `[]`, "a page": `<html>`, "half": `{"kind":"Pod`,
		"success":    `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"other kind": `{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`,
		"no version": fmt.Sprintf(list, ""), "more to come": fmt.Sprintf(list, `"resourceVersion":"5","continue":"x"`),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, body)
			})
			_, err := s.PodFeed().List(t.Context(), "")
			require.Error(t, err)
			assert.NotEqual(t, patch.Gone, patch.OfPatch(err).Kind)
			_, err = s.Pods().Get(t.Context(), "default", "web")
			require.Error(t, err)
			_, err = s.Pods().PatchStatus(t.Context(), apiserver.PodRef{Namespace: "default", Name: "web"}, []byte("{}"))
			require.Error(t, err)
			_, err = s.Nodes().Create(t.Context(), &v1.Node{})
			require.Error(t, err)
			_, err = s.Tokens().CreateToken(t.Context(), "default", "default", &authenticationv1.TokenRequest{})
			require.Error(t, err)
			_, err = s.Reviews().CreateTokenReview(t.Context(), &authenticationv1.TokenReview{})
			require.Error(t, err)
		})
	}
}
