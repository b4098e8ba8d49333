package recorder_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/timeline"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func status(at int, name string) timeline.Record {
	return timeline.Record{At: epoch.Add(time.Duration(at) * time.Second), Kind: timeline.KindStatus, Status: &timeline.Status{Pod: "default/" + name, Phase: "Running", Summary: "1/1 Running"}}
}

func gone(at int) timeline.Record {
	return timeline.Record{At: epoch.Add(time.Duration(at) * time.Second), Kind: timeline.KindGone}
}

// TestRecorder_RemovedPods: a bounded number of removed pods is kept, the last ones.
func TestRecorder_RemovedPods(t *testing.T) {
	r, err := recorder.New(recorder.Config{RemovedPods: 2})
	require.NoError(t, err)
	for i := range 5 {
		uid, name := types.UID(fmt.Sprint("u", i)), fmt.Sprint("pod-", i)
		r.Record(uid, status(i, name))
		r.Record(uid, gone(i+1))
		r.Record(uid, gone(i+1))
	}
	r.Record("u9", gone(9))
	r.Record("u8", status(9, "there"))
	now := epoch.Add(time.Minute)
	var names []string
	for _, d := range r.Timelines(now) {
		names = append(names, d.Pod)
	}
	assert.Equal(t, []string{"default/pod-3", "default/pod-4", "default/there"}, names)
	_, ok := r.TimelineByName("default", "pod-2", now)
	assert.False(t, ok)

	r.Record("u3", status(10, "pod-3")) // It exists again, so the recorder no longer counts it as removed.
	r.Record("u8", gone(11))
	r.Record("u8", gone(11))
	assert.Len(t, r.Timelines(now), 3)

	none, err := recorder.New(recorder.Config{RemovedPods: -1})
	require.NoError(t, err)
	none.Record("u1", status(0, "web"))
	none.Record("u1", gone(1))
	assert.Empty(t, none.Timelines(now))
}

// TestRecorder_TimelineByName: of several pods with one name the pod that is not removed counts, or else the last one.
func TestRecorder_TimelineByName(t *testing.T) {
	r, err := recorder.New(recorder.Config{})
	require.NoError(t, err)
	now := epoch.Add(time.Minute)
	from := func() int {
		d, ok := r.TimelineByName("default", "web", now)
		require.True(t, ok)
		return int(d.From.Sub(epoch) / time.Second)
	}
	r.Record("u1", status(1, "web"))
	r.Record("u2", status(2, "web"))
	assert.Equal(t, 2, from())
	r.Record("u2", gone(3))
	assert.Equal(t, 1, from())
	r.Record("u1", gone(4))
	assert.Equal(t, 1, from())
	r.Record("u3", timeline.Record{At: epoch, Kind: timeline.KindEvent, Name: "Early"})
	assert.Len(t, r.Timelines(now), 2, "a pod without a status has no name")
}

// TestRecorder_RecordForAll: a note about the agent is recorded for all pods that are not removed.
func TestRecorder_RecordForAll(t *testing.T) {
	r, err := recorder.New(recorder.Config{Records: 1})
	require.NoError(t, err)
	r.Record("u1", status(1, "old"))
	r.Record("u1", gone(2))
	r.Record("u2", status(1, "web"))
	r.RecordForAll(epoch.Add(3*time.Second), "the agent crashed")
	old, _ := r.TimelineByName("default", "old", epoch)
	web, _ := r.TimelineByName("default", "web", epoch)
	assert.Empty(t, old.Marks)
	assert.Len(t, web.Marks, 1)
	assert.Equal(t, 1, web.Dropped)
	_, err = recorder.New(recorder.Config{Records: -1})
	assert.ErrorIs(t, err, recorder.ErrConfig)
}
