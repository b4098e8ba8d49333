package client_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
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
			assert.NotEqual(t, patch.Gone, patch.AnswerToPatch(err).Kind)
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

// TestCalls_LongAnswers: an answer, and one that expands, is read up to a bound.
func TestCalls_LongAnswers(t *testing.T) {
	for name, write := range map[string]func(w http.ResponseWriter, zeros []byte){
		"body": func(w http.ResponseWriter, zeros []byte) {
			for range 1 << 10 {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
			assert.Fail(t, "all was read")
		},
		"expanded": func(w http.ResponseWriter, zeros []byte) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 80 {
				_, _ = z.Write(zeros)
			}
			_ = z.Close()
		},
		"header": func(w http.ResponseWriter, zeros []byte) {
			w.Header().Set("X", strings.Repeat("x", 2<<20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				write(w, make([]byte, 1<<20))
			})
			_, err := s.PodFeed().List(t.Context(), "")
			require.Error(t, err)
			if name != "header" {
				require.ErrorContains(t, err, "more than 67108864 bytes")
			}
			assert.Equal(t, patch.WaitAll, patch.AnswerToPatch(err).Kind)
		})
	}
}

// TestCalls_Redirect: no other server gets the credentials.
func TestCalls_Redirect(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	c, err := client.New(&rest.Config{Host: server.URL, BearerToken: "secret"}, "n1")
	require.NoError(t, err)
	defer c.Reconnect()
	_, err = c.PodFeed().List(t.Context(), "")
	require.Error(t, err)
	_, err = c.PodFeed().Watch(t.Context(), apiserver.WatchOptions{})
	require.Error(t, err)
	assert.Zero(t, asked)
}
