package localapi_test

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// TestRestart_RuleOfANewVersion, in a bubble: a pod that was created before goes on, and can be
// changed, although a new one like it is refused.
func TestRestart_RuleOfANewVersion(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		refused := strings.Replace(strings.Replace(web, `"web"`, `"new"`, 1), `"spec":{`, `"spec":{"hostPID":true,"shareProcessNamespace":true,`, 1)
		require.Equal(t, http.StatusUnprocessableEntity, b.statusCode("POST", pods, refused))
		for uid, pod := range b.kept {
			pod.Spec.HostPID, pod.Spec.ShareProcessNamespace = true, new(true)
			b.kept[uid] = pod
		}
		time.Sleep(5 * time.Second)
		before := b.machine.Snapshot()
		require.Len(b, before, 1)
		b.restartAgent(source.NewHandle())
		time.Sleep(5 * time.Second)
		assert.Equal(t, "200 web Running created:1", b.describeAnswer("GET", pods+"/web", ""))
		assert.Len(t, b.machine.Snapshot(), len(before))
		assert.Equal(t, "200 web Running created:1", b.describeAnswer(http.MethodPatch, pods+"/web", `{"metadata":{"labels":{"a":"b"}}}`))
		assert.Equal(t, http.StatusUnprocessableEntity, b.statusCode(http.MethodPatch, pods+"/web", `{"metadata":{"labels":{"a":"b c"}}}`))
	})
}

// TestRestart_DefaultOfANewVersion, in a bubble: a pod that an earlier version has kept with fewer
// defaults can be changed, and nothing restarts.
func TestRestart_DefaultOfANewVersion(t *testing.T) {
	inBox(t, func(b *box) {
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, web))
		for uid, pod := range b.kept {
			pod.Spec.Containers[0].TerminationMessagePath = ""
			pod.Spec.Containers[0].SecurityContext = &v1.SecurityContext{} // Its procMount has a default.
			b.kept[uid] = pod
		}
		time.Sleep(5 * time.Second)
		b.restartAgent(source.NewHandle())
		time.Sleep(5 * time.Second)
		before := b.machine.Snapshot()
		require.Len(b, before, 1)
		assert.Equal(t, "200 web Running created:1", b.describeAnswer(http.MethodPatch, pods+"/web", `{"metadata":{"labels":{"a":"b"}}}`))
		assert.Equal(t, http.StatusUnprocessableEntity, b.statusCode(http.MethodPatch, pods+"/web", `{"spec":{"hostNetwork":true}}`))
		time.Sleep(5 * time.Second)
		assert.Equal(t, before, b.machine.Snapshot())
		assert.Len(t, b.kept, 1)
		for _, pod := range b.kept {
			assert.Equal(t, int64(1), pod.Generation, "its spec is the same")
			assert.Equal(t, map[string]string{"a": "b"}, pod.Labels)
		}
	})
}

// statusCode returns the status code of a response.
func (b *box) statusCode(method, path, body string) int {
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

// TestWrite_AppArmorAnnotation: the container gets the profile of an annotation, as an
// API server does it: a later change of the annotation does not free the container.
func TestWrite_AppArmorAnnotation(t *testing.T) {
	h := newHarness(t)
	h.config.Writer, h.config.Saved = &writer{}, keeping{}
	h.startServer().waitForPods()
	annotated := strings.Replace(web, `"annotations":{`, `"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"localhost/strict",`, 1)
	pod := h.createPod(annotated)
	profile := pod.Spec.Containers[0].SecurityContext.AppArmorProfile
	require.NotNil(t, profile)
	assert.Equal(t, "Localhost strict", string(profile.Type)+" "+*profile.LocalhostProfile)
	for _, bad := range []string{strings.Replace(annotated, "localhost/strict", "strict", 1), strings.Replace(annotated, "kubernetes.io/c", "kubernetes.io/none", 1)} {
		code, answer := h.sendRequest("POST", pods, strings.Replace(bad, `"name":"web"`, `"name":"bad"`, 1), nil)
		assert.Equal(t, http.StatusUnprocessableEntity, code)
		assert.Contains(t, answer, "metadata.annotations[container.apparmor.security.beta.kubernetes.io/")
	}
}

// TestWrite_AppArmorAnnotation_Immutable: no change of a pod adds, changes or removes an annotation that
// confines it, as the next start of its container would follow it. Others can be changed beside it.
func TestWrite_AppArmorAnnotation_Immutable(t *testing.T) {
	h := newHarness(t)
	h.config.Writer, h.config.Saved = &writer{}, keeping{}
	h.startServer().waitForPods()
	h.createPod(web)
	const prefix = "container.apparmor.security.beta.kubernetes.io/"
	h.createPod(strings.NewReplacer(`"name":"web"`, `"name":"confined"`, `"annotations":{`, `"annotations":{"`+prefix+`c":"localhost/strict",`).Replace(web))
	patch := func(name, key, value string) string {
		return h.describeStatus("PATCH", pods+"/"+name, `{"metadata":{"annotations":{"`+key+`":`+value+`}}}`, "merge-patch+json")
	}
	for _, c := range []struct{ name, key, value string }{
		{"web", prefix + "c", `"unconfined"`}, {"web", prefix + "c", `"localhost/strict"`}, {"web", prefix + "c", `""`},
		{"confined", prefix + "c", `null`}, {"confined", prefix + "c", `"unconfined"`}, {"confined", prefix + "c", `"localhost/other"`},
	} {
		assert.Contains(t, patch(c.name, c.key, c.value), "metadata.annotations["+c.key+"]: Forbidden: may not add, change or remove AppArmor annotations", "%v", c)
	}
	assert.Equal(t, "200 ", patch("confined", "k", `"v"`))
	assert.Equal(t, "200 ", patch("confined", prefix+"c", `"localhost/strict"`), "it is the same")
}

// TestWrite_CreatedPodHasAllDefaults: what creation writes into a pod, such as the profile of an
// annotation, has its defaults, too. Else an update, which completes the pod, would change a field
// that cannot change, and every update of the pod would be refused.
func TestWrite_CreatedPodHasAllDefaults(t *testing.T) {
	const key = "container.apparmor.security.beta.kubernetes.io/"
	for name, body := range map[string]string{
		"unconfined": `{"metadata":{"name":"p","annotations":{"` + key + `c":"unconfined"}},"spec":{"containers":[{"name":"c","image":"x:1"}]}}`,
		"default":    `{"metadata":{"name":"p","annotations":{"` + key + `c":"runtime/default"}},"spec":{"containers":[{"name":"c","image":"x:1"},{"name":"d","image":"x:1"}]}}`,
		"init": `{"metadata":{"name":"p","annotations":{"` + key + `i":"localhost/strict"}},"spec":{"securityContext":{"appArmorProfile":{"type":"RuntimeDefault"}},` +
			`"initContainers":[{"name":"i","image":"x:1"}],"containers":[{"name":"c","image":"x:1"}]}}`,
		"seccomp": `{"metadata":{"name":"p","annotations":{"seccomp.security.alpha.kubernetes.io/pod":"runtime/default"}},"spec":{"containers":[{"name":"c","image":"x:1"}]}}`,
		"none":    `{"metadata":{"generateName":"p"},"spec":{"containers":[{"name":"c","image":"x:1"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.config.Writer, h.config.Saved = &writer{}, keeping{}
			h.startServer().waitForPods()
			pod := h.createPod(strings.Replace(body, "{", `{"apiVersion":"v1","kind":"Pod",`, 1))
			complete := pod.DeepCopy()
			validation.Default(complete)
			assert.Equal(t, complete.Spec, pod.Spec)
			assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/"+pod.Name, `{"metadata":{"labels":{"a":"b"}}}`, "merge-patch+json"))
			assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/"+pod.Name, `{"spec":{"containers":[{"name":"c","image":"x:2"}]}}`, "strategic-merge-patch+json"))
		})
	}
}

// TestWrite_FieldOfANewerKubernetes (LA-6): no form of a body, and no patch, brings a pod that has a field which the
// types here lack: it would run without a restriction. A lenient client gets the error, too.
func TestWrite_FieldOfANewerKubernetes(t *testing.T) {
	h := newHarness(t)
	h.config.Writer, h.config.Saved = &writer{}, keeping{}
	h.startServer().waitForPods()
	const (
		field = `spec.containers[0].volumeMounts[0].bindMountOptions: a field of Kubernetes 1.37 that this version does not have, so the pod is refused`
		body  = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new"},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"x:1","volumeMounts":[{"name":"v","mountPath":"/v","bindMountOptions":["noexec"]}]}]}}`
	)
	asYAML, err := yaml.JSONToYAML([]byte(body))
	require.NoError(t, err)
	want := `400 Pod in version "v1" cannot be handled as a Pod: ` + field
	for _, query := range []string{"", "?fieldValidation=Ignore", "?fieldValidation=Strict", "?dryRun=All"} {
		assert.Equal(t, want, h.describeStatus("POST", pods+query, body, "json"))
		assert.Equal(t, want, h.describeStatus("POST", pods+query, string(asYAML), "yaml"))
	}

	twice := strings.TrimSuffix(body, "}") + `,"spec":{"hostname":"h"}}` // A lenient decoder merges both.
	assert.Equal(t, want, h.describeStatus("POST", pods, twice, "json"))

	h.createPod(simple)
	patched := h.describeStatus("PATCH", pods+"/a", `{"spec":{"evictionResponders":[{"name":"r"}]}}`, "merge-patch+json")
	assert.Equal(t, `400 Pod in version "v1" cannot be handled as a Pod: spec.evictionResponders: a field of Kubernetes 1.37 that this version does not have, so the pod is refused`, patched)

	var pod v1.Pod
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(body, `,"bindMountOptions":["noexec"]`, "", 1)), &pod))
	text, err := pod.Marshal()
	require.NoError(t, err)
	// A responder with the name r: the types of Kubernetes 1.37 have to be able to read it, too.
	responder := binary.AppendUvarint(nil, 44<<3|2)
	responder = append(responder, 3, 1<<3|2, 1, 'r')
	spec := append([]byte{2<<3 | 2, byte(len(responder))}, responder...)
	raw, err := (&k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: append(text, spec...)}).Marshal()
	require.NoError(t, err)
	assert.Equal(t, patched, h.describeStatus("POST", pods, "k8s\x00"+string(raw), "vnd.kubernetes.protobuf"))
	assert.Equal(t, patched, h.describeStatus("POST", pods, afterGroup(t, "k8s\x00"+string(raw)), "vnd.kubernetes.protobuf"), "decoders skip a group, and nothing after it")
	code, _ := h.sendRequest("GET", pods+"/new", "", nil)
	assert.Equal(t, http.StatusNotFound, code)
}
