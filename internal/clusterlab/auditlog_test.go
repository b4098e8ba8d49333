package clusterlab_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// request is a line of the audit log.
type request struct {
	AuditID, Verb, RequestURI string
	UserAgent                 string
	ObjectRef                 struct{ Resource, Subresource, Namespace, Name string }
	User                      struct{ Username string }
	RequestReceivedTimestamp  time.Time
	StageTimestamp            time.Time
	RequestObject             json.RawMessage
	ResponseStatus            struct{ Code int }
}

// orderTime returns the time by which a request is ordered. For a deletion it is the time of the response, because the
// requests that succeed before it were received before the object was gone. For other requests it is the time of
// receipt.
func (r *request) orderTime() time.Time {
	if r.Verb == "delete" {
		return r.StageTimestamp
	}
	return r.RequestReceivedTimestamp
}

// auditRequests returns the requests in the audit log from an offset on, in order of time, and the offset of the end of
// the log.
func auditRequests(t *testing.T, path string, from int) (all []request, end int) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	seen := map[string]bool{}
	lines := bufio.NewReader(f)
	for ; ; end++ {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var r request
		require.NoError(t, json.Unmarshal(text, &r))
		if !seen[r.AuditID] && end >= from {
			all = append(all, r)
		}
		seen[r.AuditID] = true // A watch has one line when it begins and another when it ends.
	}
	slices.SortStableFunc(all, func(a, b request) int { return a.orderTime().Compare(b.orderTime()) })
	return all, end
}

// objectName returns the resource and the name of the object of a request. For a token it is the pod that the token is
// bound to.
func (r *request) objectName() string {
	ref := r.ObjectRef
	if ref.Subresource == "token" {
		var token struct {
			Spec struct{ BoundObjectRef struct{ Name string } }
		}
		_ = json.Unmarshal(r.RequestObject, &token) // Without one it is about the account.
		return "tokens " + token.Spec.BoundObjectRef.Name
	}
	return ref.Resource + " " + ref.Name
}

// patchKeys returns the keys of a patch: metadata below its first level, status below its second level, and lists that
// are merged by a key with the keys of their elements.
func patchKeys(patch json.RawMessage) []string {
	var body map[string]map[string]json.RawMessage
	if json.Unmarshal(patch, &body) != nil {
		return []string{"?"}
	}
	var all []string
	for top, fields := range body {
		for field, value := range fields {
			var elements []map[string]any
			if json.Unmarshal(value, &elements) == nil && (field == "conditions") {
				for _, e := range elements {
					if e["type"] != nil {
						field := fmt.Sprintf("%s.%s[%s]", top, field, e["type"])
						if e["$patch"] != nil {
							field += fmt.Sprint(" ", e["$patch"])
						}
						all = append(all, field)
					}
				}
				continue
			}
			if string(value) == "null" {
				field += "=null"
			}
			all = append(all, top+"."+field)
		}
	}
	return all
}

// isPeriodicPatch reports whether a patch of a node's status says only that it is Ready, or which images
// it has: in which story that comes is not fixed.
func isPeriodicPatch(keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return key != "status.conditions[Ready]" && key != "status.images" })
}

// transcript are the requests about one object. Between a creation or a deletion and the
// next one each kind of request is one line, with the keys of all patches of that kind: how
// many of them there are depends on what happens to be sent together.
type transcript struct {
	lines []string
	kinds []string
	keys  map[string]map[string]bool
}

func (tr *transcript) addRequest(r *request) {
	kind := strings.TrimSuffix(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")
	if tr.keys[kind] == nil {
		tr.kinds = append(tr.kinds, kind)
		tr.keys[kind] = map[string]bool{}
	}
	if r.Verb == "patch" {
		for _, key := range patchKeys(r.RequestObject) {
			tr.keys[kind][key] = true
		}
	}
	if (r.Verb == "create" || r.Verb == "delete") && r.ObjectRef.Subresource == "" {
		tr.flushKinds()
	}
}

func (tr *transcript) flushKinds() {
	for _, kind := range tr.kinds {
		tr.lines = append(tr.lines, "  "+strings.Join(append([]string{kind}, slices.Sorted(maps.Keys(tr.keys[kind]))...), "\n    "))
	}
	tr.kinds, tr.keys = nil, map[string]map[string]bool{}
}

// watchesFirst orders watches first: a watch begins concurrently with the writes of a node, also
// across a creation or a deletion.
func watchesFirst(a, b string) int {
	switch x, y := strings.HasPrefix(a, "  watch "), strings.HasPrefix(b, "  watch "); {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// compareTranscripts compares the requests of this library in a story with the stored requests and with the kubelet's
// requests. With -rewrite it stores both. It returns the end of the audit log.
func compareTranscripts(t *testing.T, sides []*auditSide, story string, from int) (end int) {
	t.Helper()
	all, end := auditRequests(t, filepath.Join(sides[0].lab.Dir(), "audit.log"), from)
	var halves [2]string
	var counts [2]map[string]int
	for i, s := range sides {
		counts[i] = map[string]int{}
		objects, refused := map[string]*transcript{}, map[string]bool{} // whose last patch was
		for _, r := range all {
			object := r.objectName()
			resource, name, _ := strings.Cut(object, " ")
			ofStory := strings.HasPrefix(name, story+".") && resource != "events"
			ofNode := slices.Contains([]string{"node-registers", "idle", "rebooted", "node-deleted"}, story) && !slices.Contains([]string{"pods", "tokens", "events", "configmaps", "secrets"}, resource)
			if r.User.Username != "system:node:"+s.node || !ofStory && !ofNode {
				continue
			}
			object = strings.ReplaceAll(strings.ReplaceAll(object, story+".", ""), s.node, "NODE")
			counts[i][object]++
			if i == 1 && r.Verb == "get" && resource == "pods" && refused[object] {
				continue // It finds out what a refused patch means.
			}
			refused[object] = r.Verb == "patch" && r.ResponseStatus.Code >= 400
			if r.ResponseStatus.Code >= 400 && r.Verb == "patch" || r.Verb == "get" && resource == "pods" && r.ResponseStatus.Code >= 400 {
				continue // Their number depends on the order of the deletions.
			}
			if r.ObjectRef.Resource == "nodes" && r.Verb == "patch" && isPeriodicPatch(patchKeys(r.RequestObject)) {
				continue
			}
			if objects[object] == nil {
				objects[object] = &transcript{keys: map[string]map[string]bool{}}
			}
			objects[object].addRequest(&r)
		}
		for _, object := range slices.Sorted(maps.Keys(objects)) {
			objects[object].flushKinds()
			slices.SortStableFunc(objects[object].lines, watchesFirst)
			if strings.HasPrefix(object, "leases ") && story != "node-registers" {
				slices.Sort(objects[object].lines) // A renewal that is due anyway comes before or after what the story does.
			}
			halves[i] += object + "\n" + strings.Join(objects[object].lines, "\n") + "\n"
		}
	}
	for _, object := range slices.Sorted(maps.Keys(counts[1])) {
		t.Logf("%s: %s: kubelet %d requests, podkeel %d", story, object, counts[0][object], counts[1][object])
		if strings.HasPrefix(object, "pods ") {
			assert.LessOrEqual(t, counts[1][object], counts[0][object], "%s: %s: requests", story, object)
		}
	}
	kept := filepath.Join("testdata", "audit", story+".txt")
	if isRewriting() {
		require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o755))
		require.NoError(t, os.WriteFile(kept, []byte("# kubelet\n"+halves[0]+"# podkeel\n"+halves[1]), 0o644))
		return end
	}
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	kubelet, podkeel, _ := strings.Cut(strings.TrimPrefix(string(text), "# kubelet\n"), "# podkeel\n")
	if kubelet != halves[0] {
		t.Logf("%s: the kubelet did otherwise than in the transcript:\n%s", story, halves[0])
	}
	assert.Equal(t, podkeel, halves[1], "%s: go test -run TestAudit -cluster -rewrite writes it again", story)
	return end
}
