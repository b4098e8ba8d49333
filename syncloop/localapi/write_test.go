package localapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
)

// writer records the calls of the API to the node.
type writer struct {
	mu   sync.Mutex
	told []string

	complete bool
	refuse   bool
}

func (w *writer) Apply(pod *v1.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse {
		return errors.New("refused")
	}
	line := "apply " + pod.Name + " " + pod.Spec.Containers[0].Image
	if pod.DeletionGracePeriodSeconds != nil {
		line += fmt.Sprint(" end ", *pod.DeletionGracePeriodSeconds)
	}
	w.told = append(w.told, line)
	return nil
}

// SetComplete implements localapi.Completer.
func (w *writer) SetComplete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete = true
}

func (w *writer) Delete(types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, "delete")
}

// takeCalls returns the calls of the node since the last takeCalls.
func (w *writer) takeCalls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.told = nil }()
	return w.told
}

// newWritableAPI returns an API that stores pods in a directory.
func newWritableAPI(t *testing.T, dir string) (*harness, *writer) {
	h, w := newHarness(t), &writer{}
	saved, err := checkpoint.NewPods(checkpoint.Config{Root: dir})
	require.NoError(t, err)
	h.config.Writer, h.config.Saved = w, saved
	return h, w
}

const (
	pods   = "/api/v1/namespaces/default/pods"
	simple = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"terminationGracePeriodSeconds":7,"containers":[{"name":"c","image":"x:1"}]}}`
)

// createPod creates a pod and returns it.
func (h *harness) createPod(body string) (pod v1.Pod) {
	h.Helper()
	code, text := h.sendRequest("POST", pods, body, nil)
	require.Equal(h, http.StatusCreated, code, text)
	require.NoError(h, json.Unmarshal([]byte(text), &pod))
	return pod
}

// describeStatus returns the code of a response and the message of its Status.
func (h *harness) describeStatus(method, path, body, media string) string {
	h.Helper()
	code, text := h.sendRequest(method, path, body, http.Header{"Content-Type": {"application/" + media}})
	var status struct{ Message string }
	require.NoError(h, json.Unmarshal([]byte(text), &status), text)
	return fmt.Sprint(code, " ", status.Message)
}

// TestCreate: the response is the complete pod with defaults; the node gets the pod.
func TestCreate(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	watch := h.startWatch("/api/v1/pods?watch=true")
	pod := h.createPod(simple)
	assert.Equal(t, "Pod a default n1 Always Pending BestEffort 1", fmt.Sprint(pod.Kind, " ", pod.Name, " ", pod.Namespace, " ", pod.Spec.NodeName, " ", pod.Spec.RestartPolicy, " ", pod.Status.Phase, " ", pod.Status.QOSClass, " ", pod.Generation))
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	assert.Contains(t, watch.body.Text(), `"resourceVersion":"`+pod.ResourceVersion+`"`, "the first event is the pod of the response")
	assert.Len(t, pod.UID, 36)
	assert.False(t, pod.CreationTimestamp.IsZero())
	assert.Equal(t, pod.ResourceVersion, getObject[v1.Pod](h, pods+"/a").ResourceVersion)
	assert.Equal(t, []string{"apply a x:1"}, w.takeCalls())
	named := h.createPod(strings.Replace(simple, `"name":"a"`, `"generateName":"job-"`, 1))
	assert.Regexp(t, "^job-[a-z0-9]{5}$", named.Name)
	assert.Equal(t, "201 ", h.describeStatus("POST", pods+"?dryRun=All", strings.Replace(simple, `"a"`, `"dry"`, 1), "json"))
	assert.Equal(t, `404 pods "dry" not found`, h.describeStatus("GET", pods+"/dry", "", "json"))
	assert.Equal(t, `405 create is not supported on resources of kind "namespaces": a namespace is there as long as a pod is in it`, h.describeStatus("POST", "/api/v1/namespaces", "{}", "json"))
}

// TestCreate_Invalid: everything that is wrong is said, with the code of a real server.
func TestCreate_Invalid(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	h.createPod(simple)
	w.takeCalls()
	for _, step := range [][3]string{
		{`"x"`, `"x"`, `409 pods "a" already exists`},
		{`"x:1"`, `""`, `422 Pod "a" is invalid: spec.containers[0].image: Required value`},
		{`"spec":{`, `"spec":{"nodeName":"other",`, `422 Pod "a" is invalid: spec.nodeName: Invalid value: "other": expected n1, the only node`},
		{`"name":"a"`, `"name":"a","namespace":"other"`, `400 the namespace of the provided object does not match the namespace sent on the request`},
		{`"name":"a"`, `"name":"a","resourceVersion":"1"`, `400 resourceVersion should not be set on objects to be created`},
		{`"spec":{`, `"spec":{"tpyo":1,`, `400 Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.tpyo"`},
		{`"Pod"`, `"Node"`, `400 `},
		{`{`, `nonsense`, `400 the body cannot be read as a Pod`},
		{`"a"`, `"m","annotations":{"kubernetes.io/config.mirror":"x"}`, `422 Pod "m" is invalid: metadata.annotations[kubernetes.io/config.mirror]: Forbidden: it is for static pods`},
	} {
		got := h.describeStatus("POST", pods+"?fieldValidation=Strict", strings.Replace(simple, step[0], step[1], 1), "json")
		assert.True(t, strings.HasPrefix(got, step[2]), "%s", got)
	}
	assert.Empty(t, w.takeCalls())
	assert.Equal(t, "413 Request entity too large: limit is 1048576", h.describeStatus("POST", pods, strings.Repeat(" ", 2<<20), "json"))
}

// TestUpdate: every kind of patch, and only what a real server lets change.
func TestUpdate(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	h.createPod(simple)
	w.takeCalls()
	patch := func(media, body string) string {
		if got := h.describeStatus("PATCH", pods+"/a", body, media); got != "200 " {
			return got
		}
		pod := getObject[v1.Pod](h, pods+"/a")
		return fmt.Sprint(pod.Spec.Containers[0].Image, " ", pod.Labels, " ", pod.Generation)
	}
	assert.Equal(t, "x:2 map[] 2", patch("strategic-merge-patch+json", `{"spec":{"containers":[{"name":"c","image":"x:2"}]}}`))
	assert.Equal(t, "x:2 map[k:v] 2", patch("merge-patch+json", `{"metadata":{"labels":{"k":"v"}}}`))
	assert.Equal(t, "x:3 map[k:w] 3", patch("json-patch+json", `[{"op":"test","path":"/metadata/labels/k","value":"v"},{"op":"replace","path":"/metadata/labels/k","value":"w"},{"op":"replace","path":"/spec/containers/0/image","value":"x:3"}]`))
	assert.Equal(t, []string{"apply a x:2", "apply a x:2", "apply a x:3"}, w.takeCalls())
	assert.Equal(t, "x:3 map[k:w] 3", patch("merge-patch+json", `{}`))
	assert.Empty(t, w.takeCalls(), "nothing has changed")
	for _, step := range [][3]string{
		{"merge-patch+json", `{"spec":{"hostNetwork":true}}`, "422 Pod \"a\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"},
		{"merge-patch+json", `{"metadata":{"resourceVersion":"1"}}`, "409 Operation cannot be fulfilled on pods \"a\": the object has been modified"},
		{"merge-patch+json", `{"metadata":{"name":"b"}}`, "400 the name of the object does not match"},
		{"json-patch+json", `[{"op":"remove","path":"/none"}]`, "422 the patch cannot be applied: error in remove for path: '/none'"},
		{"apply-patch+yaml", `{}`, "415 this node keeps no owners of fields: use kubectl apply without --server-side"},
		{"x", `{}`, "415 the body of the request was in an unknown format - accepted media types include: application/json-patch+json"},
		{"merge-patch+json", `{"metadata":{"annotations":{"kubernetes.io/config.source":"file"}}}`, "422 Pod \"a\" is invalid: metadata.annotations"},
	} {
		got := patch(step[0], step[1])
		assert.True(t, strings.HasPrefix(got, step[2]), "%s", got)
	}
	assert.Empty(t, w.takeCalls(), "a refused write has no effect")
	assert.Equal(t, "415 this node keeps no owners of fields: use kubectl apply without --server-side", h.describeStatus("PATCH", pods+"/new", "{}", "apply-patch+yaml"))
	assert.Equal(t, "x:3 map[k:w] 4", patch("merge-patch+json", `{"spec":{"activeDeadlineSeconds":60,"tolerations":[{"key":"t"}]}}`))
	assert.Contains(t, patch("merge-patch+json", `{"spec":{"activeDeadlineSeconds":61}}`), "must be less than or equal to previous value")
	assert.Contains(t, patch("merge-patch+json", `{"spec":{"activeDeadlineSeconds":null}}`), "must not update from a positive integer to nil value")
	assert.Contains(t, patch("merge-patch+json", `{"spec":{"tolerations":[]}}`), "existing toleration can not be modified")
	seconds := func(n int) string {
		return fmt.Sprintf(`{"spec":{"tolerations":[{"key":"t"},{"key":"u","operator":"Exists","effect":"NoExecute","tolerationSeconds":%d}]}}`, n)
	}
	assert.Equal(t, "x:3 map[k:w] 5", patch("merge-patch+json", seconds(60)))
	assert.Equal(t, "x:3 map[k:w] 6", patch("merge-patch+json", seconds(30)))
}

// slowDisk calls meanwhile while it saves a pod.
type slowDisk struct {
	localapi.Unsaved
	meanwhile func()
}

func (d slowDisk) Save(*v1.Pod) error { d.meanwhile(); return nil }

// TestCreate_Namesake: where a static pod takes the name while a pod is created, the answer is the
// created pod, which has nothing of the other, and not the static one.
func TestCreate_Namesake(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	static := newPod("default", "a")
	static.Status.PodIP = "10.0.0.1"
	h.config.Saved = slowDisk{meanwhile: func() {
		h.states <- node.PodState{Pod: static}
		h.states <- node.PodState{Pod: newPod("default", "later")} // The one before it is in the API.
	}}
	h.startServer().waitForPods()
	answer := h.createPod(simple)
	assert.NotEqual(t, static.UID, answer.UID)
	assert.Equal(t, "x:1 Pending ", fmt.Sprint(answer.Spec.Containers[0].Image, " ", answer.Status.Phase, " ", answer.Status.PodIP))
	assert.Equal(t, static.UID, getObject[v1.Pod](h, pods+"/a").UID)
}

// TestUpdate_LargeNumbers: a number that no float can have is not changed by a patch of something
// else, of whatever kind.
func TestUpdate_LargeNumbers(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	h.createPod(strings.Replace(simple, `"spec":{`, `"spec":{"tolerations":[{"key":"t","operator":"Exists","effect":"NoExecute","tolerationSeconds":9007199254740993}],`, 1))
	for media, body := range map[string]string{
		"merge-patch+json":           `{"metadata":{"labels":{"a":"b"}}}`,
		"strategic-merge-patch+json": `{"metadata":{"labels":{"a":"c"}}}`,
		"json-patch+json":            `[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}]`,
	} {
		require.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a", body, media), media)
		assert.Equal(t, int64(9007199254740993), *getObject[v1.Pod](h, pods+"/a").Spec.Tolerations[0].TolerationSeconds, media)
	}
}

// TestUpdate_Whole: an object is replaced only as its client has seen it, and its status is
// the node's.
func TestUpdate_Whole(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	status := newPod("default", "a")
	status.UID = h.createPod(simple).UID
	watch := h.startWatch("/api/v1/pods?watch=true")
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	h.states <- node.PodState{Pod: status}
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	now := getObject[v1.Pod](h, pods+"/a")
	assert.Equal(t, "Running x:1 map[]", fmt.Sprint(now.Status.Phase, " ", now.Spec.Containers[0].Image, " ", now.Labels), "the rest is the client's")
	now.Status.Phase = v1.PodFailed
	text, err := json.Marshal(now)
	require.NoError(t, err)
	assert.Equal(t, "200 ", h.describeStatus("PUT", pods+"/a", strings.Replace(string(text), "x:1", "x:2", 1), "json"))
	assert.Equal(t, v1.PodRunning, getObject[v1.Pod](h, pods+"/a").Status.Phase)
	assert.Contains(t, h.describeStatus("PUT", pods+"/a", string(text), "json"), "409 Operation cannot be fulfilled")

	absent := strings.Replace(simple, "x:1", "x:3", 1)
	assert.NotContains(t, absent, "nodeName")
	assert.Equal(t, "200 ", h.describeStatus("PUT", pods+"/a", absent, "json"))
	assert.Equal(t, "n1 x:3", getObject[v1.Pod](h, pods+"/a").Spec.NodeName+" "+getObject[v1.Pod](h, pods+"/a").Spec.Containers[0].Image)
	assert.Contains(t, h.describeStatus("PUT", pods+"/a", strings.Replace(absent, `"spec":{`, `"spec":{"nodeName":"n2",`, 1), "json"), "expected n1, the only node")

	debug := `{"spec":{"ephemeralContainers":[{"name":"debug","image":"x"}]}}`
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a/ephemeralcontainers", debug, "strategic-merge-patch+json"))
	assert.Len(t, getObject[v1.Pod](h, pods+"/a").Spec.EphemeralContainers, 1)
	assert.Contains(t, h.describeStatus("PATCH", pods+"/a/ephemeralcontainers", `{"spec":{"ephemeralContainers":null}}`, "merge-patch+json"), "existing ephemeral containers may not be changed or removed")
	assert.Contains(t, h.describeStatus("PATCH", pods+"/a/ephemeralcontainers", `{"spec":{"hostPID":true}}`, "merge-patch+json"), "only additions to `spec.ephemeralContainers` are possible here")
}

// TestUpdate_Dry: the response differs from the stored pod only in the requested change, as kubectl diff shows.
// Nothing is changed.
func TestUpdate_Dry(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	h.createPod(simple)
	w.takeCalls()
	before := getObject[v1.Pod](h, pods+"/a")
	code, text := h.sendRequest("PATCH", pods+"/a?dryRun=All", `{"metadata":{"labels":{"new":"1"}}}`, http.Header{"Content-Type": {"application/merge-patch+json"}})
	require.Equal(t, http.StatusOK, code, text)
	var after v1.Pod
	require.NoError(t, json.Unmarshal([]byte(text), &after))
	assert.Equal(t, map[string]string{"new": "1"}, after.Labels)
	after.Labels = before.Labels
	assert.Equal(t, before, after)
	assert.Equal(t, before, getObject[v1.Pod](h, pods+"/a"))
	assert.Empty(t, w.takeCalls())
}

// TestDeleteMany: the pods of a namespace that are selected are deleted, static ones left alone.
func TestDeleteMany(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	static := newPod("default", "static-n1")
	static.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: podmanager.FileSource}
	h.startServer(static).waitForPods()
	for _, name := range []string{"a", "b", "c"} {
		h.createPod(strings.Replace(simple, `"a"`, strconv.Quote(name), 1))
	}
	require.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/b", `{"metadata":{"labels":{"keep":"me"}}}`, "merge-patch+json"))
	w.takeCalls()
	deleted := func(query, body string) (names []string) {
		code, text := h.sendRequest("DELETE", pods+query, body, nil)
		require.Equal(t, http.StatusOK, code, text)
		var list v1.PodList
		require.NoError(t, json.Unmarshal([]byte(text), &list))
		for _, pod := range list.Items {
			require.NotNil(t, pod.DeletionTimestamp)
			names = append(names, pod.Name)
		}
		return names
	}
	assert.Equal(t, []string{"a"}, deleted("?fieldSelector=metadata.name%3Da&dryRun=All", ""))
	assert.Empty(t, w.takeCalls())
	assert.Equal(t, []string{"a", "c"}, deleted("?labelSelector=%21keep", `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":1}`))
	applied := slices.DeleteFunc(w.takeCalls(), func(call string) bool { return call == "delete" }) // The node knows none of them.
	assert.Equal(t, []string{"apply a x:1 end 1", "apply c x:1 end 1"}, applied)
	assert.Nil(t, getObject[v1.Pod](h, pods+"/b").DeletionTimestamp)
	assert.Equal(t, `400 unable to parse labelSelector: found '=', expected: !, identifier, or 'end of string'`, h.describeStatus("DELETE", pods+"?labelSelector=%3D", "", "json"))
}

// TestDelete: a pod has a deletion timestamp until it has ended; another deletion can only
// shorten its time.
func TestDelete(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	running := newPod("default", "a")
	running.UID = h.createPod(simple).UID
	h.mu.Lock()
	h.pods = []*v1.Pod{running}
	h.mu.Unlock()
	w.takeCalls()
	watch := h.startWatch("/api/v1/pods?watch=true")
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	const options = `{"apiVersion":"v1","kind":"DeleteOptions",`
	assert.Contains(t, h.describeStatus("DELETE", pods+"/a", options+`"preconditions":{"uid":"other"}}`, "json"), "409 Operation cannot be fulfilled on pods \"a\": Precondition failed: UID in precondition: other")
	for _, step := range [][2]string{
		{options + `"propagationPolicy":"Background"}`, "[apply a x:1 end 7]"},
		{options + `"gracePeriodSeconds":60}`, "[]"},
		{``, "[]"},
		{options + `"gracePeriodSeconds":2}`, "[apply a x:1 end 2]"},
	} {
		code, text := h.sendRequest("DELETE", pods+"/a", step[0], nil)
		require.Equal(t, http.StatusOK, code, text)
		assert.Contains(t, text, `"deletionTimestamp":`)
		assert.Equal(t, step[1], fmt.Sprint(w.takeCalls()))
	}
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	assert.Equal(t, `409 pods "a" already exists`, h.describeStatus("POST", pods, simple, "json"), "the name is taken until the pod has ended")
	ended := running.DeepCopy()
	ended.Status.Phase = v1.PodFailed
	h.states <- node.PodState{Pod: ended, Gone: true}
	assert.Equal(t, "MODIFIED a Failed", watch.nextPhase(), "how it has ended")
	assert.Equal(t, "DELETED a Failed", watch.nextPhase())
	h.states <- node.PodState{Pod: ended} // The node shows its end once more.
	again := h.createPod(simple)
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	assert.Equal(t, again.UID, getObject[v1.Pod](h, pods+"/a").UID)
	assert.Equal(t, []string{"delete", "apply a x:1"}, w.takeCalls())
	assert.Equal(t, `404 pods "none" not found`, h.describeStatus("DELETE", pods+"/none", "", "json"))
}

// TestDelete_Remembered: a deleted pod that has terminated is gone, even if the node still reports it.
func TestDelete_Remembered(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	ended := newPod("default", "a")
	ended.UID = h.createPod(simple).UID
	h.mu.Lock()
	h.pods = []*v1.Pod{ended}
	h.mu.Unlock()
	require.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/a", "", "json"))
	ended = ended.DeepCopy()
	ended.DeletionTimestamp, ended.Status.Phase = &metav1.Time{Time: time.Unix(1, 0)}, v1.PodFailed
	for range 2 {
		h.states <- node.PodState{Pod: ended}
	}
	h.states <- node.PodState{Pod: newPod("default", "other")} // Those before it have been taken in.
	assert.Equal(t, `404 pods "a" not found`, h.describeStatus("GET", pods+"/a", "", "json"))
	h.createPod(simple)
}

// TestFinalizers (LA-7): a pod that has ended is there until the last of them is removed, also over a
// restart; none can be added while it is being deleted.
func TestFinalizers(t *testing.T) {
	dir := t.TempDir()
	h, _ := newWritableAPI(t, dir)
	h.startServer().waitForPods()
	ended := newPod("default", "a")
	ended.UID = h.createPod(strings.Replace(simple, `"metadata":{`, `"metadata":{"finalizers":["x.io/a","x.io/b"],`, 1)).UID
	ended.Status.Phase = v1.PodSucceeded
	assert.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/a", "", "json"))
	h.states <- node.PodState{Pod: ended}
	h.states <- node.PodState{Pod: ended, Gone: true}
	h.states <- node.PodState{Pod: newPod("default", "other")} // The server has handled the two states before when it takes this one.
	assert.Equal(t, []string{"x.io/a", "x.io/b"}, getObject[v1.Pod](h, pods+"/a").Finalizers)
	h.stop()
	<-h.ran

	h, w := newWritableAPI(t, dir)
	h.startServer().waitForPods()
	assert.Equal(t, []string{"apply a x:1 end 7"}, w.takeCalls())
	assert.Equal(t, []string{"x.io/a", "x.io/b"}, getObject[v1.Pod](h, pods+"/a").Finalizers)
	assert.Contains(t, h.describeStatus("PATCH", pods+"/a", `{"metadata":{"finalizers":["x.io/a","x.io/c"]}}`, "merge-patch+json"), `no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/c"}`)
	assert.Contains(t, h.describeStatus("PATCH", pods+"/a", `{"metadata":{"finalizers":["x.io/a","***"]}}`, "merge-patch+json"), `metadata.finalizers: Invalid value: "***"`)
	assert.Contains(t, h.describeStatus("POST", pods, strings.Replace(simple, `"name":"a"`, `"name":"b","finalizers":["***"]`, 1), "json"), `metadata.finalizers: Invalid value: "***"`)
	watch := h.startWatch("/api/v1/pods?watch=true")
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a", `{"metadata":{"finalizers":["x.io/b"]}}`, "merge-patch+json"))
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a", `{"metadata":{"finalizers":null}}`, "merge-patch+json"))
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	assert.Equal(t, "DELETED a", watch.nextEventLine())
}

// endingWriter is a node whose pod terminates during the call that deletes the pod.
type endingWriter struct {
	*writer
	forgotten chan<- struct{}
	ended     func(pod *v1.Pod)
}

func (w endingWriter) Delete(uid types.UID) {
	w.writer.Delete(uid)
	w.forgotten <- struct{}{}
}

func (w endingWriter) Apply(pod *v1.Pod) error {
	if pod.DeletionTimestamp != nil {
		w.ended(pod)
	}
	return w.writer.Apply(pod)
}

// TestDelete_Ends: a pod that ends while it is being deleted is not given to the node after it
// was forgotten: its name would be taken for ever.
func TestDelete_Ends(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	forgotten := make(chan struct{}, 9)
	h.config.Writer = endingWriter{w, forgotten, func(pod *v1.Pod) {
		h.states <- node.PodState{Pod: pod, Gone: true}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		select { // It may not be forgotten yet. Only a fault can be missed by waiting too briefly.
		case <-forgotten:
		case <-ctx.Done():
		}
	}}
	h.startServer().waitForPods()
	h.createPod(simple)
	w.takeCalls()
	assert.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/a", "", "json"))
	h.states <- node.PodState{Pod: newPod("default", "other")} // The one before it is taken in.
	assert.Equal(t, []string{"apply a x:1 end 7", "delete"}, w.takeCalls())
	h.createPod(simple)
}

// TestDelete_Unseen: a pod that the node has never shown goes, too.
func TestDelete_Unseen(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	h.createPod(simple)
	watch := h.startWatch("/api/v1/pods?watch=true")
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	assert.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/a", "", "json"))
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	assert.Equal(t, "DELETED a", watch.nextEventLine())
}

// TestDelete_ThenStatic: the pod of a manifest that has the UID of a deleted pod is shown.
func TestDelete_ThenStatic(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	created := h.createPod(simple)
	watch := h.startWatch("/api/v1/pods?watch=true")
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	assert.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/a", "", "json"))
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	assert.Equal(t, "DELETED a", watch.nextEventLine())
	static := newPod("default", "a-n1")
	static.UID, static.Annotations = created.UID, map[string]string{podmanager.ConfigSourceAnnotation: podmanager.FileSource}
	h.states <- node.PodState{Pod: &created, Gone: true}
	h.states <- node.PodState{Pod: static}
	assert.Equal(t, "ADDED a-n1", watch.nextEventLine())
	h.states <- node.PodState{Pod: static, Gone: true}
	assert.Equal(t, "DELETED a-n1", watch.nextEventLine())
}

// TestStatic: the API cannot change a pod of another source, and without a Writer it cannot change any pod.
func TestStatic(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer(staticPod("default", "web-n1"), newPod("default", "applied")).waitForPods()
	assert.Equal(t, `405 pod "applied" was not created through this API: the program that runs the node can change or remove it`, h.describeStatus("DELETE", pods+"/applied", "", ""))
	readOnly := newHarness(t).startServer(newPod("default", "web-n1")).waitForPods()
	for _, method := range []string{"DELETE", "PUT", "PATCH"} {
		assert.Equal(t, `405 pod "web-n1" is a static pod: change or remove its manifest`, h.describeStatus(method, pods+"/web-n1", "", "merge-patch+json"))
		assert.Contains(t, readOnly.describeStatus(method, pods+"/web-n1", "", "merge-patch+json"), "405 this server is read only: ")
	}
	for request, want := range map[string]string{
		"PATCH /api/v1/nodes/n1":           `405 patch is not supported on resources of kind "nodes": the node is as it was configured`,
		"PUT " + pods + "/web-n1/status":   `405 pod "web-n1" is a static pod: change or remove its manifest`,
		"POST " + pods + "/web-n1/status":  `405 create is not supported on resources of kind "pods/status"`,
		"DELETE /api/v1/pods":              `405 deletecollection is not supported on resources of kind "pods"`,
		"PATCH " + pods + "/web-n1/resize": `405 pod "web-n1" is a static pod: change or remove its manifest`,
	} {
		method, path, _ := strings.Cut(request, " ")
		assert.Equal(t, want, h.describeStatus(method, path, "{}", "merge-patch+json"), request)
	}
}

// TestStatic_Mirror: a static pod is shown as its mirror pod is in a cluster, which kubectl drain
// leaves alone. A created pod is not shown so, nor is a pod that the node got in another way.
func TestStatic_Mirror(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	static := newPod("default", "web-n1")
	static.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: "file", podmanager.ConfigHashAnnotation: "1234"}
	h.startServer(static, newPod("default", "b")).waitForPods()
	h.createPod(simple)
	mirrors := map[string]string{}
	for _, p := range getObject[v1.PodList](h, pods).Items {
		mirrors[p.Name] = p.Annotations[podmanager.ConfigMirrorAnnotation]
	}
	assert.Equal(t, map[string]string{"a": "", "b": "", "web-n1": "1234"}, mirrors)
	assert.NotContains(t, static.Annotations, podmanager.ConfigMirrorAnnotation, "the pod of the node stays as it is")
}

// TestRestore (LA-7): the next process has all created and changed pods. A deletion continues. The pod
// disappears at once if the node does not have it.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	h, _ := newWritableAPI(t, dir)
	h.startServer().waitForPods()
	running := newPod("default", "a")
	running.UID = h.createPod(simple).UID
	gone := h.createPod(strings.Replace(simple, `"a"`, `"gone"`, 1))
	h.mu.Lock()
	h.pods = []*v1.Pod{&gone} // It is still to end when the process does.
	h.mu.Unlock()
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a", `{"metadata":{"labels":{"k":"v"}}}`, "merge-patch+json"))
	assert.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/gone", "", "json"))
	h.stop()
	<-h.ran

	next, w := newWritableAPI(t, dir)
	next.startServer(running).waitForPods()
	assert.ElementsMatch(t, []string{"apply a x:1", "apply gone x:1 end 7", "delete"}, w.takeCalls(), "in the order of their UIDs")
	all := getObject[v1.PodList](next, "/api/v1/pods").Items
	require.Len(t, all, 1)
	assert.Equal(t, "a v "+string(running.UID)+" Running", all[0].Name+" "+all[0].Labels["k"]+" "+string(all[0].UID)+" "+string(all[0].Status.Phase))
	assert.True(t, w.complete)
	_, err := localapi.New(localapi.Config{Node: h, NodeName: "n1", Finder: h, Authenticator: localapi.Token("x"), Saved: localapi.Unsaved{}})
	require.EqualError(t, err, "localapi: Config.Writer and Saved go together")
}

// TestRestore_Lost: the API does not call SetComplete if a saved pod cannot be read or run. No client has
// deleted that pod, so its volumes stay.
func TestRestore_Lost(t *testing.T) {
	dir := t.TempDir()
	h, w := newWritableAPI(t, dir)
	h.startServer().waitForPods()
	assert.True(t, w.complete, "there was none")
	created := h.createPod(simple)

	refused, w := newWritableAPI(t, dir)
	w.refuse = true
	refused.startServer().waitForPods()
	assert.False(t, w.complete)

	require.NoError(t, os.WriteFile(filepath.Join(dir, string(created.UID)+".json"), []byte(`{"trunc`), 0o600))
	damaged, w := newWritableAPI(t, dir)
	damaged.startServer().waitForPods()
	assert.False(t, w.complete)
}
