package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// TestCheckInvariants_Finds: a table that is broken by hand has its fault named. b waits
// behind a for their full name, c is not static.
func TestCheckInvariants_Finds(t *testing.T) {
	for name, tc := range map[string]struct {
		breakIt func(table *Table, a, b, c *record)
		want    string
	}{
		"a queue that leads nowhere": {func(table *Table, a, _, _ *record) { a.fullName = "other" }, "is broken at a"},
		"a queue without its end":    {func(table *Table, a, _, _ *record) { a.next = 0 }, "ends at the wrong place"},
		"started behind another":     {func(_ *Table, _, b, _ *record) { b.latches |= started }, "b has started out of turn"},
		"not indexed":                {func(table *Table, _, _, c *record) { table.byUID["c"] = 0 }, "c#1 is not indexed"},
		"indexed, no record":         {func(table *Table, _, _, _ *record) { table.byUID["d"] = 0 }, "3 records, 4 indexed"},
		"failed, and nothing queued": {func(_ *Table, _, _, c *record) { c.activity, c.failed = idle, true }, "it waits after a failure and does not wait"},
		"unasked, and nothing queued": {func(_ *Table, _, _, c *record) { c.activity, c.waitsForRuntime = idle, true },
			"it waits for the runtime and does not wait"},
		"ended, and still in the queue": {func(_ *Table, a, _, _ *record) {
			a.stage, a.grace, a.pending, a.latches = StageTerminated, 1, false, a.latches|started
		}, "I11: its place in the name queue"},
		"desired, and not in the queue": {func(_ *Table, _, _, c *record) { c.fullName = "c" }, "I11: its place in the name queue"},
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
			tc.breakIt(table, table.find("a"), table.find("b"), table.find("c"))
			assert.ErrorContains(t, table.CheckInvariants(), tc.want)
		})
	}
}
