package localapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source"
)

// TestRestart_RuleOfANewVersion, in a bubble: a pod that was created before goes on, and can be
// changed, although a new one like it is refused.
func TestRestart_RuleOfANewVersion(t *testing.T) {
	inBox(t, func(b *box) {
		b.restart(source.NewHandle())
		require.Regexp(t, "^201 web ", b.ask("POST", pods, web))
		refused := strings.Replace(strings.Replace(web, `"web"`, `"new"`, 1), `"spec":{`, `"spec":{"hostPID":true,"shareProcessNamespace":true,`, 1)
		require.Equal(t, http.StatusUnprocessableEntity, b.code("POST", pods, refused))
		for uid, pod := range b.kept {
			pod.Spec.HostPID, pod.Spec.ShareProcessNamespace = true, new(true)
			b.kept[uid] = pod
		}
		before := b.machine.Look()
		b.restart(source.NewHandle())
		time.Sleep(5 * time.Second)
		assert.Equal(t, "200 web Running created:1", b.ask("GET", pods+"/web", ""))
		assert.Len(t, b.machine.Look(), len(before))
		assert.Equal(t, "200 web Running created:1", b.ask(http.MethodPatch, pods+"/web", `{"metadata":{"labels":{"a":"b"}}}`))
		assert.Equal(t, http.StatusUnprocessableEntity, b.code(http.MethodPatch, pods+"/web", `{"metadata":{"labels":{"a":"b c"}}}`))
	})
}

// code is the status code of an answer.
func (b *box) code(method, path, body string) int {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, "http://n1"+path, strings.NewReader(body))
	require.NoError(b, err)
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/strategic-merge-patch+json")
	}
	resp, err := b.client.Do(req)
	require.NoError(b, err)
	require.NoError(b, resp.Body.Close())
	return resp.StatusCode
}

// TestWrite_AppArmorAnnotation: the profile of an annotation becomes that of the container, as an
// API server does it: a later change of the annotation does not free the container.
func TestWrite_AppArmorAnnotation(t *testing.T) {
	h := serve(t)
	h.config.Writer, h.config.Saved = &writer{}, keeping{}
	h.start().ready()
	annotated := strings.Replace(web, `"annotations":{`, `"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"localhost/strict",`, 1)
	pod := h.created(annotated)
	profile := pod.Spec.Containers[0].SecurityContext.AppArmorProfile
	require.NotNil(t, profile)
	assert.Equal(t, "Localhost strict", string(profile.Type)+" "+*profile.LocalhostProfile)
	for _, bad := range []string{strings.Replace(annotated, "localhost/strict", "strict", 1), strings.Replace(annotated, "kubernetes.io/c", "kubernetes.io/none", 1)} {
		code, answer := h.do("POST", pods, strings.Replace(bad, `"name":"web"`, `"name":"bad"`, 1), nil)
		assert.Equal(t, http.StatusUnprocessableEntity, code)
		assert.Contains(t, answer, "metadata.annotations[container.apparmor.security.beta.kubernetes.io/")
	}
}
