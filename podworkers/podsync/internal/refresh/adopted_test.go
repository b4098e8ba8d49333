package refresh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

// A pod that was not set up since the Table began is forgotten when its files show all changes; one
// that was set up is kept until it is torn down.
func TestTable_ForgetsWhatWasNotSetUp(t *testing.T) {
	now := time.Unix(0, 0)
	var table Table
	table.SetUp("mine", now)
	table.IsUp("mine", true)
	for range 2 {
		table.Changed("mine", now)
		table.Changed("older", now)
		now = now.Add(time.Hour)
		assert.Len(t, table.Begin(now), 2)
		table.End("mine", true, now)
		table.End("older", true, now)
		assert.Contains(t, table.pods, types.UID("mine"))
		assert.NotContains(t, table.pods, types.UID("older"))
	}
	table.TornDown("mine")
	assert.Empty(t, table.pods)
}
