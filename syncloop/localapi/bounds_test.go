package localapi_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/localapi"
)

// inProtobuf is a pod as clients send it in that form.
func inProtobuf(t *testing.T, pod *v1.Pod) string {
	raw, err := pod.Marshal()
	require.NoError(t, err)
	envelope := k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}
	text, err := envelope.Marshal()
	require.NoError(t, err)
	return "k8s\x00" + string(text)
}

// inEnvelope is a message that is a pod, as clients send it.
func inEnvelope(t *testing.T, message []byte) string {
	text, err := (&k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: message}).Marshal()
	require.NoError(t, err)
	return "k8s\x00" + string(text)
}

// afterGroup is a pod in protobuf with a group before its fields, which decoders skip.
func afterGroup(t *testing.T, body string) string {
	var envelope k8sruntime.Unknown
	require.NoError(t, envelope.Unmarshal([]byte(strings.TrimPrefix(body, "k8s\x00"))))
	return inEnvelope(t, append([]byte{15<<3 | 3, 15<<3 | 4}, envelope.Raw...))
}

// TestBounds (LA-6): a small body that would become much in memory, or take long, is refused before
// it is decoded, in every form.
func TestBounds(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	h.createPod(simple)
	many := &v1.Pod{Spec: v1.PodSpec{Containers: make([]v1.Container, 10_001)}}
	spec := func(text string) string { return `{"apiVersion":"v1","kind":"Pod","spec":` + text + `}` }
	const tooMany, tooDeep = "413 Request entity too large: limit is 20000 values", "413 Request entity too large: limit is 100 levels"
	for name, c := range map[string]struct{ method, body, media, want string }{
		"objects":           {"POST", spec(`{"containers":[` + strings.Repeat("{},", 10_001) + `{}]}`), "json", tooMany},
		"nulls":             {"POST", spec(`{"containers":[` + strings.Repeat("null,", 20_001) + `{}]}`), "json", tooMany},
		"after a quote":     {"POST", spec(`{"hostname":"\\\"","containers":[` + strings.Repeat("{},", 10_001) + `{}]}`), "json", tooMany},
		"in protobuf":       {"POST", inProtobuf(t, many), "vnd.kubernetes.protobuf", tooMany},
		"after a group":     {"POST", afterGroup(t, inProtobuf(t, many)), "vnd.kubernetes.protobuf", tooMany},
		"unreadable":        {"POST", inEnvelope(t, append(binary.AppendUvarint(nil, 1<<35|2<<3|2), 2, 18, 0)), "vnd.kubernetes.protobuf", "400 the body cannot be read: it is no message of protobuf"},
		"in YAML":           {"POST", "spec:\n containers:\n" + strings.Repeat(" -\n", 20_001), "yaml", tooMany},
		"much YAML":         {"POST", "a: " + strings.Repeat("x", 256<<10), "yaml", "413 Request entity too large: limit is 262144 bytes of YAML"},
		"an alias bomb":     {"POST", "spec:\n a: &a [" + strings.Repeat("x,", 30_000) + "]\n b: &b [" + strings.Repeat("*a,", 30_000) + "]\n c: [" + strings.Repeat("*b,", 18_000) + "]\n", "yaml", "413 Request entity too large: line 3: more than 200000 values once aliases are written out"},
		"a long alias":      {"POST", "spec:\n a: &a " + strings.Repeat("x", 100_000) + "\n b: [" + strings.Repeat("*a,", 30_000) + "]\n", "yaml", "413 Request entity too large: line 3: more than 1 MiB once aliases are written out"},
		"aliases":           {"POST", "spec:\n a: &a [" + strings.Repeat("x,", 200) + "]\n b: [" + strings.Repeat("*a,", 200) + "]\n", "yaml", tooMany},
		"a patch in YAML":   {"PATCH", "a: &a [" + strings.Repeat("x,", 30_000) + "]\nb: [" + strings.Repeat("*a,", 30_000) + "]\n", "strategic-merge-patch+json", tooMany},
		"levels":            {"POST", spec(strings.Repeat(`{"a":`, 101)), "json", tooDeep},
		"a replacement":     {"PUT", spec(`{"containers":[` + strings.Repeat("{},", 10_001) + `{}]}`), "json", tooMany},
		"a merge":           {"PATCH", `{"spec":{"containers":[` + strings.Repeat(`{"name":"c"},`, 10_001) + `{}]}}`, "strategic-merge-patch+json", tooMany},
		"levels of a patch": {"PATCH", `{"a":` + strings.Repeat(`[`, 101) + strings.Repeat(`]`, 101) + `}`, "merge-patch+json", tooDeep},
		"copies":            {"PATCH", `[{"op":"add","path":"/x","value":[` + strings.Repeat("0,", 9999) + `0]}` + strings.Repeat(`,{"op":"copy","from":"/x","path":"/spec/y"},{"op":"copy","from":"/spec/y","path":"/spec/z"}`, 2) + `]`, "json-patch+json", tooMany},
		"many options":      {"DELETE", `{"dryRun":[` + strings.Repeat(`"",`, 20_001) + `""]}`, "json", tooMany},
	} {
		t.Run(name, func(t *testing.T) {
			path := pods
			if c.method != "POST" {
				path += "/a"
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			assert.Equal(t, c.want, h.describeStatus(c.method, path, c.body, c.media))
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "all that was ever allocated, garbage too")
		})
	}
	quoted := strings.Replace(simple, `"name":"a"`, `"name":"quoted","annotations":{"k":"`+strings.Repeat(`{[,\"`, 20_000)+`"}`, 1)
	assert.Equal(t, "201 ", h.describeStatus("POST", pods, quoted, "json"), "the content of a text is no value")
	large := newPod("default", "protobuf")
	large.UID, large.Spec.NodeName, large.Annotations = "", "", map[string]string{"k": strings.Repeat("x", 200_000)}
	assert.Equal(t, "201 ", h.describeStatus("POST", pods, inProtobuf(t, large), "vnd.kubernetes.protobuf"))
}

// TestBounds_Pods: the total size of all stored pods is bounded too.
func TestBounds_Pods(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	var there kept
	for i := range 139 {
		large := newPod("default", fmt.Sprint("p", i))
		large.UID, large.Annotations = types.UID(large.Name), map[string]string{"k": strings.Repeat("x", 240_000)}
		there = append(there, large)
	}
	h.config.Saved = there
	h.startServer().waitForPods()
	sized := func(name string, bytes int) string {
		return strings.Replace(simple, `"a"`, `"`+name+`","annotations":{"k":"`+strings.Repeat("<", bytes)+`"}`, 1)
	}
	assert.Equal(t, "413 Request entity too large: limit is 250000 bytes for a pod", h.describeStatus("POST", pods, sized("a", 42_000), "json"), "one byte is six in a file")
	assert.Equal(t, `403 pods "b" is forbidden: there are 139 pods already, of at most 1000, with 32 MiB at most`, h.describeStatus("POST", pods, strings.ReplaceAll(sized("b", 240_000), "<", "x"), "json"))
	h.createPod(simple)
	assert.Contains(t, h.describeStatus("PATCH", pods+"/a", `{"metadata":{"annotations":{"k":"`+strings.Repeat("x", 240_000)+`"}}}`, "merge-patch+json"), "403 ")
}

// TestBounds_Full: where there are as many pods as there may be, those that are there can be
// changed all the same.
func TestBounds_Full(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	var there kept
	for i := range 1000 {
		one := newPod("default", fmt.Sprint("p", i))
		one.UID = types.UID(one.Name)
		there = append(there, one)
	}
	h.config.Saved = there
	h.startServer(there...).waitForPods()
	assert.Equal(t, `403 pods "a" is forbidden: there are 1000 pods already, of at most 1000, with 32 MiB at most`, h.describeStatus("POST", pods, simple, "json"))
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/p7", `{"metadata":{"labels":{"k":"v"}}}`, "merge-patch+json"))
}

// TestPanic: a write in which the program's own code panics is answered, and others after it.
func TestPanic(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	disk := &fullDisk{}
	h.config.Saved = disk
	h.startServer().waitForPods()
	h.createPod(simple)
	w.takeCalls()
	disk.changeDisk(func() { disk.panics = true })
	for _, method := range []string{"PATCH", "DELETE"} {
		body := map[string]string{"PATCH": `{"metadata":{"labels":{"k":"v"}}}`}[method]
		assert.Contains(t, h.describeStatus(method, pods+"/a", body, "merge-patch+json"), "500 Internal error occurred: ")
	}
	assert.Contains(t, h.describeStatus("POST", pods, strings.Replace(simple, `"a"`, `"b"`, 1), "json"), "500 Internal error occurred: ")
	disk.changeDisk(func() { disk.panics = false })
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a", `{"metadata":{"labels":{"k":"v"}}}`, "merge-patch+json"))
	assert.Equal(t, []string{"apply a x:1"}, w.takeCalls())
}

// fullDisk saves nothing more once it is full.
type fullDisk struct {
	mu      sync.Mutex
	full    bool
	panics  bool
	read    bool // nothing can be removed either
	dropped []types.UID
}

// changeDisk changes what the disk does.
func (d *fullDisk) changeDisk(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// firstDropped returns the pod that was dropped first.
func (d *fullDisk) firstDropped() types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dropped[0]
}

func (d *fullDisk) Load() []*v1.Pod { return nil }

func (d *fullDisk) Save(*v1.Pod) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.panics {
		panic("a fault of the program")
	}
	if d.full {
		return errors.New("no space left on device")
	}
	return nil
}

func (d *fullDisk) Drop(uid types.UID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.read {
		return errors.New("read-only file system")
	}
	d.dropped = append(d.dropped, uid)
	return nil
}

// TestFullDisk: a pod can be deleted where there is no room for a file; a change that cannot
// be kept is not made.
func TestFullDisk(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	disk := &fullDisk{}
	h.config.Saved = disk
	h.startServer().waitForPods()
	first := h.createPod(simple)
	h.createPod(strings.Replace(simple, `"a"`, `"b"`, 1))
	w.takeCalls()
	disk.changeDisk(func() { disk.full = true })
	assert.Contains(t, h.describeStatus("POST", pods, strings.Replace(simple, `"a"`, `"c"`, 1), "json"), "500 ")
	assert.Contains(t, h.describeStatus("PATCH", pods+"/a", `{"metadata":{"labels":{"k":"v"}}}`, "merge-patch+json"), "500 ")
	assert.Empty(t, getObject[v1.Pod](h, pods+"/a").Labels)
	assert.Empty(t, w.takeCalls())
	assert.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/a", "", "json"))
	assert.Equal(t, first.UID, disk.firstDropped(), "the next process does not run it again")
	assert.Equal(t, "apply a x:1 end 7", w.takeCalls()[0])
	disk.changeDisk(func() { disk.read = true })
	assert.Contains(t, h.describeStatus("DELETE", pods+"/b", "", "json"), "500 ", "it would run again after a restart")
}

// TestRestore_Incomplete: a pod whose file lacks what a server fills in can be deleted.
func TestRestore_Incomplete(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	bare := newPod("default", "bare")
	bare.Spec.TerminationGracePeriodSeconds = nil
	h.config.Saved = kept{bare}
	h.startServer(bare).waitForPods()
	assert.Equal(t, "200 ", h.describeStatus("DELETE", pods+"/bare", "", "json"))
	assert.Equal(t, fmt.Sprintf("apply bare %s end 30", bare.Spec.Containers[0].Image), w.takeCalls()[1])
}

// kept have been saved by a process before.
type kept []*v1.Pod

func (k kept) Load() []*v1.Pod    { return k }
func (kept) Save(*v1.Pod) error   { return nil }
func (kept) Drop(types.UID) error { return nil }

// TestBounds_History: changes of large objects are forgotten earlier, and a watch from an older version gets an error.
func TestBounds_History(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.config.Saved = localapi.Unsaved{}
	h.startServer().waitForPods()
	first := h.createPod(simple)
	patch := func(i int) {
		body := fmt.Sprintf(`{"metadata":{"annotations":{"k":"%d%s"}}}`, i, strings.Repeat("x", 240_000))
		require.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a", body, "merge-patch+json"))
	}
	at := func(version string) int {
		code, _ := h.sendRequest(http.MethodGet, "/api/v1/pods?resourceVersionMatch=Exact&resourceVersion="+version, "", nil)
		return code
	}
	for i := range 60 {
		patch(i)
	}
	assert.Equal(t, http.StatusOK, at(first.ResourceVersion), "14 MiB are remembered")
	for i := range 20 {
		patch(i)
	}
	assert.Equal(t, http.StatusGone, at(first.ResourceVersion), "19 MiB are not")
	assert.Equal(t, http.StatusOK, at(getObject[v1.Pod](h, pods+"/a").ResourceVersion))
}
