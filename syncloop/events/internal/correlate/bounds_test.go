package correlate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/events/internal/correlate"
)

func occurrence(pod, message string, at time.Duration) correlate.Occurrence {
	return correlate.Occurrence{Object: v1.ObjectReference{Kind: "Pod", Name: pod}, Type: "Normal", Reason: "R", Message: message, At: begin.Add(at)}
}

// EB-2: an event that waits or is being written is not evicted. Its next occurrence increases its count,
// however many other events came between.
func TestTable_EB2_PendingEventsAreRemembered(t *testing.T) {
	table := correlate.New("kubelet", "n1")
	table.Record(occurrence("first", "m", 0))
	first, _ := table.NextWrite(begin)
	require.NotNil(t, first)
	for i := range 5000 {
		table.Record(occurrence(fmt.Sprint("p", i), "m", 0))
	}
	table.Record(occurrence("first", "m", time.Second))
	table.FinishWrite(first, nil, begin.Add(time.Second))
	for at := begin.Add(time.Hour); ; at = at.Add(time.Second) {
		w, next := table.NextWrite(at)
		if w == nil && next.IsZero() {
			break
		}
		if w != nil && w.Name == first.Name {
			assert.Nil(t, w.Create, "the server has it")
			assert.Contains(t, string(w.Patch), `"count":2`)
			return
		}
		if w != nil {
			table.FinishWrite(w, nil, at)
		}
	}
	t.Error("the second occurrence is not written")
}

// The tenth message of a reason within the window is combined with others. A new window starts after more than
// ten minutes without a message; after exactly ten minutes the old one continues.
func TestTable_TheWindowOfSimilarEvents(t *testing.T) {
	for pause, want := range map[time.Duration]bool{10 * time.Minute: true, 10*time.Minute + 1: false} {
		table := correlate.New("kubelet", "n1")
		for i := range 9 {
			table.Record(occurrence("web", fmt.Sprint(i), 0))
		}
		table.Record(occurrence("web", "new", pause))
		combined := false
		for w, _ := table.NextWrite(begin.Add(time.Hour)); w != nil; w, _ = table.NextWrite(begin.Add(time.Hour)) {
			combined = combined || w.Create.Message == "(combined from similar events): new"
		}
		assert.Equal(t, want, combined, pause)
	}
}

// A thousand events that are being written fill the table, and none of them can be dropped.
func TestTable_NothingWaitsAndNothingIsDropped(t *testing.T) {
	table := correlate.New("kubelet", "n1")
	now := begin
	for i := range 1000 {
		table.Record(occurrence(fmt.Sprint("p", i), "m", 0))
		now = now.Add(time.Second)
		w, _ := table.NextWrite(now)
		require.NotNil(t, w)
	}
	require.Equal(t, 1000, table.PendingCount())
	assert.Nil(t, table.Record(occurrence("late", "m", 0)))
	assert.Equal(t, 1001, table.PendingCount())
	dropped := table.Record(occurrence("later", "m", 0))
	require.NotNil(t, dropped)
	assert.Equal(t, "late", dropped.InvolvedObject.Name)
}

// An event that is written again keeps its position before later events.
func TestTable_RequeueKeepsThePosition(t *testing.T) {
	table := correlate.New("kubelet", "n1")
	table.Record(occurrence("first", "m", 0))
	table.Record(occurrence("second", "m", 0))
	w, _ := table.NextWrite(begin)
	table.FinishWrite(w, errs["409"], begin)
	again, _ := table.NextWrite(begin)
	assert.Equal(t, w.Name, again.Name)
}

// RememberedCount counts the remembered events, similar events and objects.
func TestTable_RememberedCount(t *testing.T) {
	table := correlate.New("kubelet", "n1")
	assert.Zero(t, table.RememberedCount())
	for i := range 3 {
		table.Record(occurrence("web", fmt.Sprint(i), 0))
	}
	assert.Equal(t, 3+1+1, table.RememberedCount())
}
