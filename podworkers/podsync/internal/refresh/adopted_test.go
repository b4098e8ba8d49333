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
	table.SetUpBegan("mine", now)
	table.SetUpEnded("mine", true)
	for range 2 {
		table.VolumesChanged("mine", now)
		table.VolumesChanged("older", now)
		now = now.Add(time.Hour)
		assert.Len(t, table.StartDue(now), 2)
		table.RefreshEnded("mine", true, now)
		table.RefreshEnded("older", true, now)
		assert.Contains(t, table.pods, types.UID("mine"))
		assert.NotContains(t, table.pods, types.UID("older"))
	}
	table.Remove("mine")
	assert.Empty(t, table.pods)
}
