package localapi_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
)

const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// TestNew: all that is missing is said.
func TestNew(t *testing.T) {
	_, err := localapi.New(localapi.Config{})
	require.EqualError(t, err, "localapi: Config.Node, NodeName, Authenticator and Finder are all needed")
}

// TestAccess: nothing is served without the token but the health, which says no reason.
func TestAccess(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	wrong := http.Header{"Authorization": {"Bearer " + token + "x"}}
	for _, path := range []string{"/", "/api", "/version", "/api/v1/pods", "/openapi/v3", "/none", "/healthz/x"} {
		code, text := h.sendRequest("GET", path, "", wrong)
		assert.Equal(t, http.StatusUnauthorized, code, path)
		assert.Equal(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`+"\n", text, path)
	}
	for _, header := range []http.Header{{"Authorization": {""}}, {"Authorization": {"Bearer "}}, {"Authorization": {"Basic " + token}}} {
		code, _ := h.sendRequest("GET", "/api", "", header)
		assert.Equal(t, http.StatusUnauthorized, code, header)
	}
	code, text := h.sendRequest("GET", "/healthz", "", wrong)
	assert.Equal(t, "200 ok", fmt.Sprint(code, " ", text))
	h.mu.Lock()
	h.healthy = errors.New("the disk of db-7 is full")
	h.mu.Unlock()
	code, text = h.sendRequest("GET", "/healthz", "", wrong)
	assert.Equal(t, "500 the node is not healthy\n", fmt.Sprint(code, " ", text))
	code, _ = h.sendRequest("GET", "/livez", "", wrong)
	assert.Equal(t, http.StatusOK, code)
}

// TestStart: lists are not served before they are complete, because an informer would treat missing
// objects as deleted. The error says what the node waits for.
func TestStart(t *testing.T) {
	h := newHarness(t)
	h.waiting = errors.New("node: the runtime cannot be listed: it is down")
	h.startServer()
	code, text := h.sendRequest("GET", "/api/v1/pods", "", nil)
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, text, `"message":"the node starts: the runtime cannot be listed: it is down","reason":"ServiceUnavailable","details":{"retryAfterSeconds":1}`)
	code, _ = h.sendRequest("GET", "/readyz", "", nil)
	assert.Equal(t, http.StatusInternalServerError, code)
	h.mu.Lock()
	h.waiting, h.pods = nil, []*v1.Pod{newPod("default", "a")}
	h.mu.Unlock()
	h.states <- node.PodState{Pod: h.pods[0]}
	h.waitForPods()
	assert.Len(t, getObject[v1.PodList](h, "/api/v1/pods").Items, 1)
	assert.ErrorIs(t, h.api.Run(t.Context()), runtime.ErrSecondRun)
}

// TestDiscovery: what there is, in the old form and the aggregated one.
func TestDiscovery(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	assert.Equal(t, "v1.36.3", getObject[map[string]string](h, "/version")["gitVersion"])
	assert.Equal(t, []string{"v1"}, getObject[metav1.APIVersions](h, "/api").Versions)
	groups := getObject[metav1.APIGroupList](h, "/apis").Groups
	var names []string
	for _, g := range groups {
		names = append(names, g.PreferredVersion.GroupVersion)
	}
	assert.Equal(t, []string{"authentication.k8s.io/v1", "authorization.k8s.io/v1", "coordination.k8s.io/v1", "events.k8s.io/v1"}, names)
	var lines []string
	for _, r := range getObject[metav1.APIResourceList](h, "/api/v1").APIResources {
		lines = append(lines, fmt.Sprint(r.Name, " ", r.Kind, " ", r.Namespaced, " ", r.Verbs, r.ShortNames))
	}
	assert.Equal(t, []string{
		"pods Pod true [get list watch] [po]",
		"pods/attach PodAttachOptions true [create get] []",
		"pods/exec PodExecOptions true [create get] []",
		"pods/log Pod true [get] []",
		"pods/portforward PodPortForwardOptions true [create get] []",
		"pods/status Pod true [get] []",
		"events Event true [get list watch] [ev]",
		"nodes Node false [get list watch] [no]",
		"namespaces Namespace false [get list watch] [ns]",
	}, lines)
	_, text := h.sendRequest("GET", "/api", "", http.Header{"Accept": {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}})
	assert.True(t, strings.HasPrefix(text, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{},"versions":[{"version":"v1","resources":[{"resource":"pods",`), text)
	code, text := h.sendRequest("GET", "/apis/apps/v1", "", nil)
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, text, `"message":"the server could not find the requested resource","reason":"NotFound"`)
}

// TestGet: an object has its kind and a version; a missing object is a Status.
func TestGet(t *testing.T) {
	h := newHarness(t).startServer(newPod("default", "a")).waitForPods()
	got := getObject[v1.Pod](h, "/api/v1/namespaces/default/pods/a")
	assert.Equal(t, "v1 Pod a", got.APIVersion+" "+got.Kind+" "+got.Name)
	assert.NotEmpty(t, got.ResourceVersion)
	for path, want := range map[string]string{
		"/api/v1/namespaces/default/pods/b":                                        `404 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"b\" not found","reason":"NotFound","details":{"name":"b","kind":"pods"},"code":404}`,
		"/api/v1/pods?labelSelector=a==b==c":                                       `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"unable to parse labelSelector: found '==', expected: ',' or 'end of string'","reason":"BadRequest","code":400}`,
		"/api/v1/pods?fieldSelector=spec.x=1":                                      `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"field label not supported: spec.x","reason":"BadRequest","code":400}`,
		"/api/v1/pods?resourceVersion=x":                                           `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"invalid resource version \"x\": expected a number","reason":"BadRequest","code":400}`,
		"/api/v1/pods?continue=x":                                                  `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"continue: the token is not one of this server","reason":"BadRequest","code":400}`,
		"/api/v1/pods?sendInitialEvents=true":                                      `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitialEvents needs watch and resourceVersionMatch=NotOlderThan","reason":"BadRequest","code":400}`,
		"/api/v1/nodes/n1/status":                                                  `404 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`,
		"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1/status": `404 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`,
		"/api/v1/namespaces/default/services/a":                                    `404 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"there are no services here: this node has no cluster, and runs pods only","reason":"NotFound","details":{"kind":"services"},"code":404}`,
	} {
		code, text := h.sendRequest("GET", path, "", nil)
		assert.Equal(t, want+"\n", fmt.Sprint(code, " ", text), path)
	}
	code, text := h.sendRequest("POST", "/api/v1/namespaces/default/pods", "{}", nil)
	assert.Equal(t, `405 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"this server is read only: create is not supported on resources of kind \"pods\"","reason":"MethodNotAllowed","details":{"kind":"pods"},"code":405}`+"\n", fmt.Sprint(code, " ", text))
	code, text = h.sendRequest("GET", "/api/v1/pods", "", http.Header{"Accept": {"application/yaml"}})
	assert.Equal(t, http.StatusNotAcceptable, code, text)
}

// TestList: selectors, pages of one moment, and versions.
func TestList(t *testing.T) {
	h := newHarness(t).startServer(newPod("default", "a"), newPod("default", "b"), newPod("other", "c")).waitForPods()
	names := func(query string) (names []string) {
		for _, p := range getObject[v1.PodList](h, query).Items {
			names = append(names, p.Namespace+"/"+p.Name)
		}
		return names
	}
	assert.Equal(t, []string{"default/a", "default/b", "other/c"}, names("/api/v1/pods"))
	assert.Equal(t, []string{"default/a", "default/b"}, names("/api/v1/namespaces/default/pods"))
	assert.Equal(t, []string{"default/b"}, names("/api/v1/pods?labelSelector=app%3Db"))
	assert.Equal(t, []string{"other/c"}, names("/api/v1/pods?fieldSelector=metadata.namespace%3Dother,status.phase%3DRunning"))
	assert.Contains(t, h.getText("/api/v1/pods?labelSelector=app%3Dnone"), `"items":[]`)

	first := getObject[v1.PodList](h, "/api/v1/pods?limit=2")
	assert.Equal(t, []int64{2, 1}, []int64{int64(len(first.Items)), *first.RemainingItemCount})
	h.states <- node.PodState{Pod: newPod("other", "c"), Gone: true}
	h.states <- node.PodState{Pod: newPod("other", "d")} // The one before it is in the API.
	assert.Equal(t, []string{"other/c"}, names("/api/v1/pods?limit=2&continue="+first.Continue), "the list goes on as it was")
	second := getObject[v1.PodList](h, "/api/v1/pods?continue="+first.Continue)
	assert.Equal(t, first.ResourceVersion+" ", second.ResourceVersion+" "+second.Continue)
	assert.Equal(t, []string{"default/a", "default/b", "other/c"}, names("/api/v1/pods?resourceVersionMatch=Exact&resourceVersion="+first.ResourceVersion))

	version, err := strconv.ParseInt(first.ResourceVersion, 10, 64)
	require.NoError(t, err)
	code, text := h.sendRequest("GET", fmt.Sprint("/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=", version-9), "", nil)
	assert.Equal(t, http.StatusGone, code)
	assert.Contains(t, text, `"reason":"Expired","code":410`)
	code, text = h.sendRequest("GET", fmt.Sprint("/api/v1/pods?resourceVersion=", version+99), "", nil)
	assert.Equal(t, http.StatusGatewayTimeout, code)
	assert.Contains(t, text, `"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]`)
}

// about90s matches an age of about 90 s: the test itself takes time.
var about90s = regexp.MustCompile(`\b9\ds\b`)

// TestTable: the columns and cells of a real server.
func TestTable(t *testing.T) {
	crashing := newPod("default", "crash")
	crashing.Status.ContainerStatuses[0] = v1.ContainerStatus{
		RestartCount: 3, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: crashing.CreationTimestamp}},
	}
	crashing.Spec.InitContainers = []v1.Container{{Name: "i"}}
	crashing.Status.InitContainerStatuses = []v1.ContainerStatus{{
		Name: "i", RestartCount: 2, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}},
		LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: metav1.Now()}},
	}}
	done := newPod("default", "done")
	done.Status = v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: []v1.ContainerStatus{{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed"}}}}}
	h := newHarness(t).startServer(newPod("default", "a"), crashing, done).waitForPods()
	_, text := h.sendRequest("GET", "/api/v1/namespaces/default/pods", "", http.Header{"Accept": {asTable}})
	var table metav1.Table
	require.NoError(t, json.Unmarshal([]byte(text), &table))
	var lines []string
	var columns []string
	for _, c := range table.ColumnDefinitions {
		columns = append(columns, fmt.Sprint(c.Name, c.Priority))
	}
	for _, row := range table.Rows {
		lines = append(lines, about90s.ReplaceAllString(fmt.Sprintf("%q", row.Cells), "90s"))
	}
	assert.Equal(t, []string{"Name0", "Ready0", "Status0", "Restarts0", "Age0", "IP1", "Node1", "Nominated Node1", "Readiness Gates1"}, columns)
	assert.Equal(t, []string{
		`["a" "1/1" "Running" "0" "90s" "10.0.0.1" "n1" "<none>" "<none>"]`,
		`["crash" "0/1" "CrashLoopBackOff" "3 (90s ago)" "90s" "10.0.0.1" "n1" "<none>" "<none>"]`,
		`["done" "0/1" "Completed" "0" "90s" "<none>" "n1" "<none>" "<none>"]`,
	}, lines)
	assert.Equal(t, metav1.RowCompleted, table.Rows[2].Conditions[0].Type)
	assert.Contains(t, string(table.Rows[0].Object.Raw), `"kind":"PartialObjectMetadata"`)
	assert.NotContains(t, string(table.Rows[0].Object.Raw), `"spec"`)
	_, text = h.sendRequest("GET", "/api/v1/pods?includeObject=Object&limit=1", "", http.Header{"Accept": {asTable}})
	assert.Contains(t, text, `"object":{"kind":"Pod"`)
	_, text = h.sendRequest("GET", "/api/v1/nodes", "", http.Header{"Accept": {asTable}})
	assert.Regexp(t, `"cells":\["n1","Ready","\\u003cnone\\u003e","\d+s","v1.36.3",`, text)
	_, text = h.sendRequest("GET", "/api/v1/pods", "", http.Header{"Accept": {"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}})
	assert.Contains(t, text, `"kind":"PartialObjectMetadataList"`)
}

// watching reads the events of a watch.
type watching struct {
	*harness
	body *bufio.Scanner
	end  func()
}

func (h *harness) startWatch(query string) *watching {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), "GET", h.url+query, nil)
	require.NoError(h, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(h, err)
	require.Equal(h, http.StatusOK, resp.StatusCode)
	h.Cleanup(func() { _ = resp.Body.Close() })
	return &watching{h, bufio.NewScanner(resp.Body), func() { _ = resp.Body.Close() }}
}

// watched is an event of a watch.
type watched struct {
	Type   watch.EventType
	Object struct {
		metav1.ObjectMeta `json:"metadata"`
		Code              int
		Reason, Message   string
		Status            any
	}
}

func (w *watching) nextEvent() (e watched) {
	w.Helper()
	require.True(w, w.body.Scan(), "the watch has ended")
	require.NoError(w, json.Unmarshal(w.body.Bytes(), &e))
	return e
}

// nextPhase is the next event, with the phase of its pod.
func (w *watching) nextPhase() string {
	w.Helper()
	e := w.nextEvent()
	status, _ := e.Object.Status.(map[string]any)
	return fmt.Sprint(e.Type, " ", e.Object.Name, " ", status["phase"])
}

// nextEventLine returns the next event in one line.
func (w *watching) nextEventLine() string {
	w.Helper()
	e := w.nextEvent()
	line := strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Object.Name, " ", e.Object.Reason))
	if e.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
		line += " initial-events-end"
	}
	return line
}

// TestWatch: what there is and what changes, as seen by selectors, and deletions with a
// version of their own.
func TestWatch(t *testing.T) {
	h := newHarness(t).startServer(newPod("default", "a")).waitForPods()
	list := getObject[v1.PodList](h, "/api/v1/pods")
	all := h.startWatch("/api/v1/pods?watch=true&resourceVersion=" + list.ResourceVersion)
	some := h.startWatch("/api/v1/namespaces/default/pods?watch=1&labelSelector=app%3Da")
	initial := h.startWatch("/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	assert.Equal(t, "ADDED a", some.nextEventLine())
	assert.Equal(t, "ADDED a", initial.nextEventLine())
	assert.Equal(t, "BOOKMARK initial-events-end", initial.nextEventLine())
	other := newPod("default", "a")
	other.Labels["app"] = "z"
	h.states <- node.PodState{Pod: other}
	assert.Equal(t, "MODIFIED a", all.nextEventLine())
	assert.Equal(t, "DELETED a", some.nextEventLine(), "it is selected no more")
	h.states <- node.PodState{Pod: other} // It does not differ, so nothing comes of it.
	h.states <- node.PodState{Pod: newPod("default", "a")}
	assert.Equal(t, "MODIFIED a", all.nextEventLine())
	assert.Equal(t, "ADDED a", some.nextEventLine())
	ended := newPod("default", "a")
	ended.Status.Phase = v1.PodSucceeded
	h.states <- node.PodState{Pod: ended, Gone: true}
	for _, w := range []*watching{all, some} {
		assert.Equal(t, "MODIFIED a Succeeded", w.nextPhase(), "how it has ended")
		assert.Equal(t, "DELETED a Succeeded", w.nextPhase())
	}
	short := h.startWatch("/api/v1/pods?watch=true&timeoutSeconds=1")
	assert.False(t, short.body.Scan())
}

// TestWatch_Expired: a version that is not remembered, or of another process, is 410 by an
// event, upon which a client lists again.
func TestWatch_Expired(t *testing.T) {
	h := newHarness(t).startServer(newPod("default", "a")).waitForPods()
	first := getObject[v1.PodList](h, "/api/v1/pods").ResourceVersion
	for i := range 2100 {
		next := newPod("default", "a")
		next.Annotations = map[string]string{"n": fmt.Sprint(i)}
		h.states <- node.PodState{Pod: next}
	}
	for _, version := range []string{first, "1", "99999999999999999"} {
		w := h.startWatch("/api/v1/pods?watch=true&resourceVersion=" + version)
		assert.Equal(t, "ERROR  Expired", w.nextEventLine())
		assert.False(t, w.body.Scan())
	}
	shown := h.startWatch("/api/v1/pods?watch=true")
	h.states <- node.PodState{Pod: newPod("default", "b")}
	for shown.nextEventLine() != "ADDED b" { // The last change of a may still be on its way.
	}
	now := getObject[v1.PodList](h, "/api/v1/pods").ResourceVersion
	h.states <- node.PodState{Pod: newPod("default", "c")}
	assert.Equal(t, "ADDED c", h.startWatch("/api/v1/pods?watch=true&resourceVersion="+now).nextEventLine())
}

// TestWatch_Table: only the first Table has columns.
func TestWatch_Table(t *testing.T) {
	h := newHarness(t).startServer(newPod("default", "a"), newPod("default", "b")).waitForPods()
	req, err := http.NewRequestWithContext(t.Context(), "GET", h.url+"/api/v1/pods?watch=true&timeoutSeconds=1", nil)
	require.NoError(t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {asTable}}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for i, want := range []int{9, 0} {
		require.True(t, lines.Scan())
		var e struct{ Object metav1.Table }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		assert.Len(t, e.Object.ColumnDefinitions, want)
		assert.Equal(t, []any{"a", "b"}[i], e.Object.Rows[0].Cells[0])
	}
}

// TestReplaced: another pod of the name is another object, which is shown when the one before
// it is gone, whatever the node says of them in between.
func TestReplaced(t *testing.T) {
	h := newHarness(t).startServer(newPod("default", "a")).waitForPods()
	w := h.startWatch("/api/v1/pods?watch=true")
	assert.Equal(t, "ADDED a", w.nextEventLine())
	next, ending := newPod("default", "a"), newPod("default", "a")
	next.UID = types.UID("another")
	ending.Status.Phase = v1.PodFailed
	h.states <- node.PodState{Pod: next}
	h.states <- node.PodState{Pod: ending}
	assert.Equal(t, "MODIFIED a", w.nextEventLine())
	h.states <- node.PodState{Pod: ending, Gone: true}
	assert.Equal(t, "DELETED a", w.nextEventLine())
	assert.Equal(t, "ADDED a", w.nextEventLine())
	assert.Equal(t, types.UID("another"), getObject[v1.Pod](h, "/api/v1/namespaces/default/pods/a").UID)
	h.states <- node.PodState{Pod: newPod("default", "b")}
	assert.Equal(t, "ADDED b", w.nextEventLine())
}

// TestNamespaces: they are there with their pods; default always is.
func TestNamespaces(t *testing.T) {
	h := newHarness(t).startServer(newPod("other", "a")).waitForPods()
	names := func() (names []string) {
		for _, n := range getObject[v1.NamespaceList](h, "/api/v1/namespaces").Items {
			names = append(names, n.Name+" "+string(n.Status.Phase))
		}
		return names
	}
	assert.Equal(t, []string{"default Active", "kube-node-lease Active", "other Active"}, names())
	assert.Equal(t, "other", getObject[v1.Namespace](h, "/api/v1/namespaces/other").Name)
	w := h.startWatch("/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Dother")
	assert.Equal(t, "ADDED other", w.nextEventLine())
	h.states <- node.PodState{Pod: newPod("other", "a"), Gone: true}
	assert.Equal(t, "DELETED other", w.nextEventLine())
	assert.Equal(t, []string{"default Active", "kube-node-lease Active"}, names())
}

// TestEvents: recorded events are listed, equal events as one.
func TestEvents(t *testing.T) {
	h := newHarness(t)
	events, err := localapi.NewEvents("n1", nil)
	require.NoError(t, err)
	h.config.Events = events
	h.startServer(newPod("default", "a")).waitForPods()
	w := h.startWatch("/api/v1/events?watch=true&fieldSelector=involvedObject.name%3Da,reason%3DStarted")
	for range 3 {
		events.Event(h.pods[0], v1.EventTypeNormal, "Started", "it runs")
		w.nextEventLine()
	}
	events.Eventf(h.pods[0], v1.EventTypeWarning, "Failed", "code %d", 3)
	all := getObject[v1.EventList](h, "/api/v1/namespaces/default/events?fieldSelector=reason%3DStarted").Items
	require.Len(t, all, 1)
	assert.Equal(t, "3 it runs Pod a kubelet n1", fmt.Sprint(all[0].Count, " ", all[0].Message, " ", all[0].InvolvedObject.Kind, " ", all[0].InvolvedObject.Name, " ", all[0].Source.Component, " ", all[0].Source.Host))
}

// TestEvents_New: the same events are there in the group that k9s asks for, with their names of
// fields, by which they are selected too.
func TestEvents_New(t *testing.T) {
	h := newHarness(t)
	events, err := localapi.NewEvents("n1", nil)
	require.NoError(t, err)
	h.config.Events = events
	h.startServer(newPod("default", "a")).waitForPods()
	const path = "/apis/events.k8s.io/v1/namespaces/default/events"
	w := h.startWatch(path + "?watch=true&fieldSelector=regarding.name%3Da,reportingController%3Dkubelet")
	events.Event(h.pods[0], v1.EventTypeNormal, "Started", "it runs")
	line := w.nextEventLine()
	list := getObject[eventsv1.EventList](h, path+"?fieldSelector=involvedObject.kind%3DPod,reason%3DStarted")
	require.Len(t, list.Items, 1)
	e := list.Items[0]
	assert.Equal(t, "ADDED "+e.Name+" Started", line)
	assert.Equal(t, "events.k8s.io/v1 EventList 1", fmt.Sprint(list.APIVersion, " ", list.Kind, " ", e.DeprecatedCount))
	assert.Equal(t, "events.k8s.io/v1 Event it runs Pod a kubelet n1 Normal", fmt.Sprint(e.APIVersion, " ", e.Kind, " ", e.Note, " ", e.Regarding.Kind, " ", e.Regarding.Name, " ", e.DeprecatedSource.Component, " ", e.DeprecatedSource.Host, " ", e.Type))
	assert.False(t, e.DeprecatedFirstTimestamp.IsZero() || e.DeprecatedLastTimestamp.IsZero())
	assert.Equal(t, e, getObject[eventsv1.Event](h, path+"/"+e.Name))
	old := getObject[v1.Event](h, "/api/v1/namespaces/default/events/"+e.Name)
	assert.Equal(t, "v1 "+e.ResourceVersion, old.APIVersion+" "+old.ResourceVersion)
	_, text := h.sendRequest("GET", "/apis/events.k8s.io/v1/events?includeObject=Object", "", http.Header{"Accept": {asTable}})
	assert.Contains(t, text, `"Normal","Started","pod/a"`)
	assert.Contains(t, text, `"object":{"kind":"Event","apiVersion":"events.k8s.io/v1"`)
	assert.Equal(t, "404 there are no pods.events.k8s.io here: this node has no cluster, and runs pods only", h.describeStatus("GET", "/apis/events.k8s.io/v1/pods", "", "json"))
	assert.Equal(t, "404 there are no events.events.k8s.io here: this node has no cluster, and runs pods only", h.describeStatus("GET", "/api/v1/events.events.k8s.io", "", "json"))
}

// TestLog: a log by the handler of the node, whose refusals are a Status here.
func TestLog(t *testing.T) {
	two := newPod("default", "two")
	two.Spec.Containers = append(two.Spec.Containers, v1.Container{Name: "d"})
	two.Spec.InitContainers = []v1.Container{{Name: "i"}}
	h := newHarness(t).startServer(newPod("default", "a"), two).waitForPods()
	assert.Equal(t, "log of id\n", h.getText("/api/v1/namespaces/default/pods/a/log"))
	for path, want := range map[string]string{
		"two/log":                   `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a container name must be specified for pod two, choose one of: [c d] or one of the init containers: [i]","reason":"BadRequest","code":400}`,
		"a/log?container=x":         `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"container x is not valid for pod a","reason":"BadRequest","code":400}`,
		"a/log?previous=true":       `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"previous terminated container \"c\" in pod \"a\" not found","reason":"BadRequest","code":400}`,
		"none/log":                  `404 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"none\" not found","reason":"NotFound","details":{"name":"none","kind":"pods"},"code":404}`,
		"a/exec?command=x&stdout=1": `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"this needs an upgrade of the connection to SPDY/3.1 or WebSocket","reason":"BadRequest","code":400}`,
		"a/attach?stdout=1":         `501 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"this node does not attach to containers","code":501}`,
		"a/portforward":             `501 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"this node forwards no ports","code":501}`,
		"a/proxy":                   `404 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"this server does not serve pods/proxy","reason":"NotFound","details":{},"code":404}`,
		"two/binding":               `404 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"this server does not serve pods/binding","reason":"NotFound","details":{},"code":404}`,
	} {
		code, text := h.sendRequest("GET", "/api/v1/namespaces/default/pods/"+path, "", nil)
		assert.Equal(t, want+"\n", fmt.Sprint(code, " ", text), path)
	}
}

// TestTable_Visible: text from a runtime or a manifest cannot control the terminal of a user who reads a Table.
func TestTable_Visible(t *testing.T) {
	odd := newPod("default", "a")
	odd.Status.Reason = "\x1b[31mRed\u202e\x00\xff"
	h := newHarness(t).startServer(odd).waitForPods()
	_, text := h.sendRequest("GET", "/api/v1/namespaces/default/pods", "", http.Header{"Accept": {asTable}})
	var table metav1.Table
	require.NoError(t, json.Unmarshal([]byte(text), &table))
	assert.Equal(t, `\x1b[31mRed\u202e\x00\xff`, table.Rows[0].Cells[2])
}
