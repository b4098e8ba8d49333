package apiservertest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

const (
	podsPath  = "/api/v1/namespaces/default/pods"
	sitesPath = "/apis/example.com/v1/namespaces/default/sites"
)

// httpHarness is a server with an HTTP client.
type httpHarness struct {
	*testing.T
	server *apiservertest.Server
	client *http.Client
}

// overHTTP runs a test in a bubble.
func overHTTP(t *testing.T, test func(h *httpHarness)) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{Resources: []metav1.APIResource{
			{Group: "example.com", Version: "v1", Kind: "Site", Name: "sites", Namespaced: true, Verbs: metav1.Verbs{"status"}},
			{Group: "example.com", Version: "v1", Kind: "Zone", Name: "zones"},
			{Group: "events.k8s.io", Version: "v1", Kind: "Event", Name: "events", Namespaced: true},
		}})
		test(&httpHarness{t, server, &http.Client{Transport: server.RoundTripper()}})
	})
}

// sendRequest sends a request and returns the code and the body of the response. The content type follows from a method such
// as PATCH:merge-patch+json.
func (h *httpHarness) sendRequest(method, path, body string) (int, string) {
	h.Helper()
	method, form, ok := strings.Cut(method, ":")
	if !ok {
		form = "json"
	}
	r, err := http.NewRequestWithContext(h.Context(), method, "http://memory"+path, strings.NewReader(body))
	require.NoError(h, err)
	r.Header.Set("Content-Type", "application/"+form)
	r.Header.Set("User-Agent", "test/1.0 (linux)")
	answer, err := h.client.Do(r)
	require.NoError(h, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(h, err)
	return answer.StatusCode, string(text)
}

// requireResponse checks the code and a part of the body of a response.
func (h *httpHarness) requireResponse(method, path, body string, code int, want string) {
	h.Helper()
	got, text := h.sendRequest(method, path, body)
	assert.Equal(h, code, got, text)
	assert.Contains(h, text, want)
}

const webPod = `{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"web:1"}]}}`

// TestRoundTripper_Pods: a pod is created, read, listed, changed, bound, evicted and deleted, and the restrictions of
// an API server hold.
func TestRoundTripper_Pods(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		h.requireResponse("POST", podsPath, webPod, 201, `"apiVersion":"v1"`)
		h.requireResponse("POST", podsPath, webPod, 409, "already exists")
		h.requireResponse("POST", podsPath, `{"metadata":{"generateName":"job-"},"spec":{"containers":[{"name":"c"}]}}`, 201, `"name":"job-00001"`)
		h.requireResponse("POST", podsPath, `{}`, 400, "metadata.name or metadata.generateName is required")
		h.requireResponse("POST", podsPath, `{"kind":"Node"}`, 400, "the object is a Node: expected a Pod")
		h.requireResponse("POST", podsPath, `{"metadata":{"name":"a","namespace":"other"}}`, 400, "does not match the URL")
		h.requireResponse("POST", podsPath, `[`, 400, "the body cannot be read")
		h.requireResponse("GET", podsPath+"/web", "", 200, `"serviceAccountName":"default"`)
		h.requireResponse("GET", podsPath+"/none", "", 404, `pods \"none\" not found`)
		h.requireResponse("GET", "/api/v1/pods?labelSelector=a%3Db", "", 200, `"items":[]`)
		h.requireResponse("PATCH:strategic-merge-patch+json", podsPath+"/web", `{"metadata":{"labels":{"a":"b"}},"status":{"phase":"Failed"}}`, 200, `"phase":"Pending"`)
		h.requireResponse("GET", "/api/v1/pods?labelSelector=a%3Db&fieldSelector=spec.nodeName%3D", "", 200, `"name":"web"`)
		h.requireResponse("GET", "/api/v1/pods?fieldSelector=spec.color%3Dred", "", 400, "field label not supported: spec.color")
		h.requireResponse("GET", "/api/v1/pods?labelSelector=%3D", "", 400, "labelSelector: ")
		h.requireResponse("PATCH:merge-patch+json", podsPath+"/web/status", `{"metadata":{"labels":{"a":null}},"status":{"message":"m"},"spec":{"hostname":"h"}}`, 200, `"message":"m"`)
		h.requireResponse("PATCH:json-patch+json", podsPath+"/web", `[{"op":"add","path":"/metadata/annotations","value":{"x":"y"}}]`, 200, `"x":"y"`)
		h.requireResponse("PATCH:apply-patch+yaml", podsPath+"/web", `{}`, 415, "applies pods only if Config.TypeConverter is set")
		h.requireResponse("PATCH:merge-patch+json", podsPath+"/web", `{"metadata":{"resourceVersion":"1"}}`, 409, "the object has been modified")
		h.requireResponse("PATCH:merge-patch+json", podsPath+"/web", `{"metadata":{"name":"b"}}`, 400, "does not match the URL")
		h.requireResponse("POST", podsPath+"/web/binding", `{"target":{"name":"n1"}}`, 201, "Success")
		h.requireResponse("POST", podsPath+"/web/binding", `{"target":{"name":"n2"}}`, 409, "already assigned")
		web := h.server.Admin().Pods("n1")[0]
		assert.Equal(h, v1.ConditionTrue, web.Status.Conditions[0].Status)
		assert.Empty(h, web.Spec.Hostname)
		h.requireResponse("POST", podsPath+"/web/eviction", `{"deleteOptions":{"gracePeriodSeconds":7}}`, 201, "Success")
		web = h.server.Admin().Pod("default", "web")
		assert.Equal(h, int64(7), *web.DeletionGracePeriodSeconds)
		assert.Equal(h, v1.DisruptionTarget, web.Status.Conditions[1].Type)
		h.requireResponse("DELETE", podsPath+"/web?gracePeriodSeconds=0", `{"preconditions":{"uid":"other"}}`, 409, "UID in precondition")
		h.requireResponse("DELETE", podsPath+"/web?gracePeriodSeconds=0", "", 200, "Success")
		h.requireResponse("DELETE", podsPath+"?labelSelector=a%3Db", "", 200, "Success")
		h.requireResponse("GET", podsPath, "", 200, "job-00001")
		h.requireResponse("DELETE", podsPath, "", 200, "Success")
		h.requireResponse("GET", podsPath, "", 200, `"items":[]`)
		h.requireResponse("GET", podsPath+"/web/log", "", 404, "package apiservertest does not serve "+podsPath+"/web/log")
		h.requireResponse("POST", podsPath+"?dryRun=All", webPod, 400, "has no dry runs")
		var first []string
		for _, r := range h.server.Requests()[:2] {
			first = append(first, r.String())
		}
		assert.Equal(h, []string{"create pods default/web", "create pods default/web: 409 AlreadyExists"}, first)
	})
}

// TestRoundTripper_Protobuf: a body may be protobuf, as clients of controller-runtime send it.
func TestRoundTripper_Protobuf(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		raw, err := pod.Marshal()
		require.NoError(h, err)
		envelope, err := (&runtime.Unknown{Raw: raw}).Marshal()
		require.NoError(h, err)
		h.requireResponse("POST:vnd.kubernetes.protobuf", podsPath, "k8s\x00"+string(envelope), 201, `"name":"web"`)
		h.requireResponse("POST:vnd.kubernetes.protobuf", podsPath, "k8s\x00\xff", 400, "the body cannot be read")
	})
}

// TestRoundTripper_EventsV1: the events of events.k8s.io are the events of core/v1 with other field names. A recorder sends
// protobuf, and counts a repeated event by a strategic merge patch.
func TestRoundTripper_EventsV1(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		const core, path = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
		event := &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "web.1"}, EventTime: metav1.NowMicro(), ReportingController: "rc", ReportingInstance: "ri", Action: "Scale", Reason: "Scaled",
			Regarding: v1.ObjectReference{Kind: "Pod", Name: "web"}, Related: &v1.ObjectReference{Name: "other"}, Note: "two pods", Type: "Normal",
			DeprecatedSource: v1.EventSource{Component: "sc"}, DeprecatedFirstTimestamp: metav1.Now(), DeprecatedLastTimestamp: metav1.Now(), DeprecatedCount: 7,
		}
		raw, err := event.Marshal()
		require.NoError(h, err)
		envelope, err := (&runtime.Unknown{Raw: raw}).Marshal()
		require.NoError(h, err)
		h.requireResponse("POST:vnd.kubernetes.protobuf", path, "k8s\x00"+string(envelope), 201, `"note":"two pods"`)
		h.requireResponse("PATCH:strategic-merge-patch+json", path+"/web.1", `{"series":{"count":2,"lastObservedTime":"2000-01-01T00:00:05.000000Z"}}`, 200, `"apiVersion":"events.k8s.io/v1"`)
		h.requireResponse("PATCH:apply-patch+yaml", path+"/web.1?fieldManager=m", `{}`, 415, "does not apply a patch")

		var stored v1.Event
		_, text := h.sendRequest("GET", core+"/web.1", "")
		require.NoError(h, json.Unmarshal([]byte(text), &stored))
		now := metav1.NewTime(event.DeprecatedFirstTimestamp.Truncate(time.Second).Local())
		assert.Equal(h, v1.Event{
			TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: "v1"}, ObjectMeta: stored.ObjectMeta, EventTime: stored.EventTime,
			ReportingController: "rc", ReportingInstance: "ri", Action: "Scale", Reason: "Scaled",
			InvolvedObject: v1.ObjectReference{Kind: "Pod", Name: "web"}, Related: &v1.ObjectReference{Name: "other"}, Message: "two pods", Type: "Normal",
			Source: v1.EventSource{Component: "sc"}, FirstTimestamp: now, LastTimestamp: now, Count: 7,
			Series: &v1.EventSeries{Count: 2, LastObservedTime: stored.Series.LastObservedTime},
		}, stored)
		assert.Equal(h, event.EventTime.UnixMicro(), stored.EventTime.UnixMicro())

		h.requireResponse("POST", core, `{"metadata":{"name":"web.2"},"involvedObject":{"kind":"Pod","name":"db"},"message":"of core"}`, 201, "")
		h.requireResponse("GET", path+"?fieldSelector=regarding.name%3Ddb", "", 200, `"regarding":{"kind":"Pod","name":"db"}`)
		h.requireResponse("GET", path+"?fieldSelector=involvedObject.name%3Ddb", "", 400, "field label not supported")
		h.requireResponse("GET", path+"/web.2", "", 200, `"note":"of core"`)
		answer, err := h.client.Get("http://memory" + path + "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=9")
		require.NoError(h, err)
		defer answer.Body.Close()
		lines, all := bufio.NewScanner(answer.Body), ""
		for lines.Scan() {
			all += lines.Text()
		}
		assert.Equal(h, 2, strings.Count(all, `"regarding":{"kind":"Pod"`))
		assert.NotContains(h, all, `"apiVersion":"v1"`)
		h.requireResponse("DELETE", path+"/web.2", "", 200, "Success")
		h.requireResponse("GET", core+"/web.2", "", 404, "not found")
		_, text = h.sendRequest("GET", "/apis/events.k8s.io/v1", "")
		assert.Equal(h, 1, strings.Count(text, `"name":"events"`), "the entry in Config.Resources changes nothing")
	})
}

// TestRoundTripper_CustomResources: a custom resource has generations, a subresource status and finalizers.
func TestRoundTripper_CustomResources(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		h.requireResponse("POST", sitesPath, `{"apiVersion":"example.com/v1","kind":"Site","metadata":{"name":"a","finalizers":["x/y"]},"spec":{"replicas":2},"status":{"ready":1}}`, 201, `"generation":1`)
		_, text := h.sendRequest("GET", sitesPath+"/a", "")
		assert.NotContains(h, text, "status", "a client cannot create a status")
		h.requireResponse("PATCH:merge-patch+json", sitesPath+"/a/status", `{"status":{"ready":2},"spec":{"replicas":9}}`, 200, `"generation":1`)
		h.requireResponse("PATCH:merge-patch+json", sitesPath+"/a", `{"status":{"ready":3},"spec":{"replicas":4}}`, 200, `"generation":2`)
		h.requireResponse("PATCH:merge-patch+json", sitesPath+"/a", `{"metadata":{"labels":{"b":"c"}}}`, 200, `"generation":2`)
		h.requireResponse("GET", sitesPath+"/a", "", 200, `"spec":{"replicas":4},"status":{"ready":2}`)
		h.requireResponse("PATCH:strategic-merge-patch+json", sitesPath+"/a", `{}`, 415, "does not apply a patch")
		h.requireResponse("PUT", sitesPath+"/a", `{"apiVersion":"example.com/v1","kind":"Site","metadata":{"name":"a","resourceVersion":"1"}}`, 409, "the object has been modified")
		h.requireResponse("PUT", sitesPath+"/a", `{"metadata":{"name":"a"}}`, 400, "Object 'Kind' is missing")
		h.requireResponse("DELETE", sitesPath+"/a", "", 200, "Success")
		h.requireResponse("GET", "/apis/example.com/v1/sites", "", 200, "deletionTimestamp")
		h.requireResponse("PATCH:merge-patch+json", sitesPath+"/a", `{"metadata":{"finalizers":null}}`, 200, "deletionTimestamp")
		h.requireResponse("GET", sitesPath+"/a", "", 404, `sites.example.com \"a\" not found`)
		const zones = "/apis/example.com/v1/zones"
		h.requireResponse("POST", zones, `{"apiVersion":"example.com/v1","kind":"Zone","metadata":{"name":"z"},"status":{"a":1}}`, 201, `"status":{"a":1}`)
		h.requireResponse("PATCH:merge-patch+json", zones+"/z", `{"status":{"a":2}}`, 200, `"generation":2`)
		h.requireResponse("GET", zones+"/z/status", "", 404, "does not serve")
		h.requireResponse("GET", "/apis/example.com/v1/namespaces/default/zones", "", 404, "does not serve")
	})
}

// TestRoundTripper_Discovery: clients find the resources.
func TestRoundTripper_Discovery(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		h.requireResponse("GET", "/version", "", 200, "v1.36.0")
		h.requireResponse("GET", "/readyz", "", 200, "ok")
		h.requireResponse("GET", "/api", "", 200, `"versions":["v1"]`)
		h.requireResponse("GET", "/apis", "", 200, `"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}`)
		h.requireResponse("GET", "/apis/example.com", "", 200, `"kind":"APIGroup"`)
		h.requireResponse("GET", "/api/v1", "", 200, `"name":"pods/binding"`)
		h.requireResponse("GET", "/apis/example.com/v1", "", 200, `"name":"sites/status"`)
		h.requireResponse("GET", "/apis/example.com/v2", "", 404, "does not serve")
		h.requireResponse("GET", "/openapi/v2", "", 404, "does not serve")
		h.requireResponse("POST", "/apis", "", 404, "does not serve")
	})
}

// watchLine reads one event of a watch.
func watchLine(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	require.True(t, lines.Scan(), "%v", lines.Err())
	var e struct {
		Type   string
		Object struct {
			metav1.ObjectMeta `json:"metadata"`
			Kind              string
			Code              int
		}
	}
	require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
	return strings.TrimRight(fmt.Sprint(e.Type, " ", e.Object.Kind, " ", e.Object.Name, e.Object.Annotations[metav1.InitialEventsAnnotationKey]), " ")
}

// TestRoundTripper_Watch: a watch shows the existing objects and each change in virtual time, has bookmarks for clients
// that want them, and ends after its timeout.
func TestRoundTripper_Watch(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		h.sendRequest("POST", podsPath, webPod)
		began := time.Now()
		answer, err := h.client.Get("http://memory" + podsPath + "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=90&fieldSelector=spec.nodeName%3D")
		require.NoError(h, err)
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		assert.Equal(h, "ADDED Pod web", watchLine(h.T, lines))
		assert.Equal(h, "BOOKMARK Pod true", watchLine(h.T, lines))
		h.sendRequest("PATCH:merge-patch+json", podsPath+"/web", `{"metadata":{"labels":{"a":"b"}}}`)
		assert.Equal(h, "MODIFIED Pod web", watchLine(h.T, lines))
		h.sendRequest("POST", podsPath+"/web/binding", `{"target":{"name":"n1"}}`)
		assert.Equal(h, "DELETED Pod web", watchLine(h.T, lines))
		assert.Equal(h, "BOOKMARK Pod", watchLine(h.T, lines))
		assert.False(h, lines.Scan())
		require.NoError(h, lines.Err())
		assert.Equal(h, 90*time.Second, time.Since(began))
	})
}

// TestRoundTripper_WatchFaults: a lost history is an event of the watch, and a broken connection an error of its body.
func TestRoundTripper_WatchFaults(t *testing.T) {
	overHTTP(t, func(h *httpHarness) {
		h.sendRequest("POST", podsPath, webPod)
		h.server.Compact()
		answer, err := h.client.Get("http://memory" + podsPath + "?watch=1&resourceVersion=1")
		require.NoError(h, err)
		assert.Equal(h, "ERROR Status", watchLine(h.T, bufio.NewScanner(answer.Body)))
		require.NoError(h, answer.Body.Close())

		answer, err = h.client.Get("http://memory" + podsPath + "?watch=true&resourceVersion=0")
		require.NoError(h, err)
		lines := bufio.NewScanner(answer.Body)
		assert.Equal(h, "ADDED Pod web", watchLine(h.T, lines))
		silent, err := h.client.Get("http://memory" + podsPath + "?watch=true&timeoutSeconds=200") // It wants no bookmarks.
		require.NoError(h, err)
		shown := bufio.NewScanner(silent.Body)
		assert.Equal(h, "ADDED Pod web", watchLine(h.T, shown))
		assert.False(h, shown.Scan())
		synctest.Wait()
		assert.Len(h, h.server.Watches(), 1, "a watch that has ended is closed")
		h.server.Down()
		assert.False(h, lines.Scan())
		require.Error(h, lines.Err())
		_, err = h.client.Get("http://memory" + podsPath)
		require.ErrorContains(h, err, "connection refused")
		h.server.Up()
		clear := h.server.Inject(apiservertest.Fault{Verb: "list", Hang: true})
		ctx, cancel := context.WithTimeoutCause(h.Context(), time.Minute, errors.New("too late"))
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", "http://memory"+podsPath, nil)
		require.NoError(h, err)
		_, err = h.client.Do(r)
		require.ErrorContains(h, err, "too late")
		clear()
		assert.Empty(h, h.server.Watches())
	})
}
