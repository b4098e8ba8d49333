package pleg

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// tableWithListing returns a table that has stored one listing, of pods a and b.
func tableWithListing() *table {
	t := &table{records: map[types.UID]*record{}, limit: 1}
	t.storeList(t.nextNumber(), []runtime.Pod{{UID: "a"}, {UID: "b"}}, nil, false)
	return t
}

// storeInspection stores a status as the result of an inspection.
func storeInspection(t *table, status *runtime.PodStatus) {
	r := t.ensureRecord(status.UID)
	t.requestInspection(r, t.number)
	for {
		taken, number := t.startNextInspection()
		if taken == nil {
			return
		}
		t.storeInspection(taken, number, map[bool]*runtime.PodStatus{true: status, false: {UID: taken.uid}}[taken == r], nil, false, r.eventsSince)
	}
}

func podUIDs(t *table) (uids []types.UID) {
	for _, p := range t.listedPodsWithLaterInspections() {
		uids = append(uids, p.UID)
	}
	return uids
}

// TestPods_ShowWhatWasInspectedSince: listings may be half a minute apart. A pod that was inspected
// as gone since then is not an orphan to kill.
func TestPods_ShowWhatWasInspectedSince(t *testing.T) {
	tab := tableWithListing()
	assert.Equal(t, []types.UID{"a", "b"}, podUIDs(tab), "the listing as it was")

	ready := runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: "s", Ready: true}}
	storeInspection(tab, &runtime.PodStatus{UID: "b", Name: "bee", Sandboxes: []runtime.SandboxStatus{ready}})
	assert.Equal(t, []runtime.Pod{{UID: "b", Name: "bee", Sandboxes: []runtime.Sandbox{ready.Sandbox}}}, tab.listedPodsWithLaterInspections(),
		"a was looked at and is gone, b has a sandbox now")

	a := tab.records["a"]
	tab.requestInspection(a, tab.number)
	_, number := tab.startNextInspection()
	tab.storeInspection(a, number, nil, runtime.ErrNotReady, false, a.eventsSince)
	tab.merged = nil
	assert.Equal(t, []types.UID{"b"}, podUIDs(tab), "that it can not be read again does not bring it back")

	storeInspection(tab, &runtime.PodStatus{UID: "c", Sandboxes: []runtime.SandboxStatus{ready}})
	assert.Equal(t, []types.UID{"b", "c"}, podUIDs(tab), "a pod that no listing has shown yet")

	tab.storeList(tab.nextNumber(), []runtime.Pod{{UID: "d"}}, nil, false)
	assert.Equal(t, []types.UID{"d"}, podUIDs(tab), "a newer listing counts again")
}

// TestPods_F62_ListedTwice: a newer inspection replaces both entries of a pod that is listed twice.
func TestPods_F62_ListedTwice(t *testing.T) {
	tab := &table{records: map[types.UID]*record{}, limit: 1}
	tab.storeList(tab.nextNumber(), []runtime.Pod{{UID: "a"}, {UID: "b"}, {UID: "a"}}, nil, false)
	assert.Equal(t, []types.UID{"a", "b", "a"}, podUIDs(tab), "the listing as it was")
	storeInspection(tab, &runtime.PodStatus{UID: "a", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s"}}}})
	assert.Equal(t, []types.UID{"a"}, podUIDs(tab), "b was looked at too, and is gone")
}
