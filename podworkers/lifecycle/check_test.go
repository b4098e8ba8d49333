package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// TestCheckInvariants_Finds: CheckInvariants names the fault of a table that the test has broken. b
// waits behind a for their full name, c is not static.
func TestCheckInvariants_Finds(t *testing.T) {
	for name, tc := range map[string]struct {
		breakIt func(table *Table, a, b, c *record)
		want    string
	}{
		"a queue that leads nowhere": {func(table *Table, a, _, _ *record) { a.fullName = "other" }, "is broken at a"},
		"a queue without its end":    {func(table *Table, a, _, _ *record) { a.next = 0 }, "has a wrong tail"},
		"started behind another":     {func(_ *Table, _, b, _ *record) { b.flags |= flagStarted }, "b has started before it holds its full name"},
		"not indexed":                {func(table *Table, _, _, c *record) { table.byUID["c"] = 0 }, "c#1 is not indexed"},
		"indexed, no record":         {func(table *Table, _, _, _ *record) { table.byUID["d"] = 0 }, "3 records, 4 indexed"},
		"failed, and nothing queued": {func(_ *Table, _, _, c *record) { c.activity, c.failed = idle, true }, "it waits after a failure but has no retry"},
		"unasked, and nothing queued": {func(_ *Table, _, _, c *record) { c.activity, c.waitsForRuntime = idle, true },
			"it waits for the runtime but has no retry"},
		"ended, and still in the queue": {func(_ *Table, a, _, _ *record) {
			a.stage, a.grace, a.pending, a.flags = StageTerminated, Seconds(1), false, a.flags|flagStarted
		}, "I11: its place in the name queue is wrong"},
		"desired, and not in the queue": {func(_ *Table, _, _, c *record) { c.fullName = "c" }, "I11: its place in the name queue is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			table := New()
			var out Effects
			for _, uid := range []types.UID{"a", "b", "c"} {
				_, err := table.Update(Update{UID: uid, Subject: ConfigPod, Type: SyncPodCreate,
					Facts: Facts{Static: uid != "c", FullName: "web"}}, &out)
				require.NoError(t, err)
			}
			require.NoError(t, table.CheckInvariants())
			tc.breakIt(table, table.findRecord("a"), table.findRecord("b"), table.findRecord("c"))
			assert.ErrorContains(t, table.CheckInvariants(), tc.want)
		})
	}
}
