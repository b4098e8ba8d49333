package podsync_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// terminalStatuses records each call, with what runs at that moment.
type terminalStatuses struct {
	runtime runtime.Runtime
	said    []string
	err     error
}

func (e *terminalStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	what := "save " + string(status.Phase) + "/" + status.Reason
	if now, err := e.runtime.PodStatus(context.Background(), pod.UID); err == nil && now.MayRun() {
		what += " while it runs"
	}
	e.said = append(e.said, what)
	return e.err
}

func (e *terminalStatuses) Drop(uid types.UID) error {
	e.said = append(e.said, "drop "+string(uid))
	return e.err
}

// The life of a pod that is evicted, or only stopped.
func TestEndings(t *testing.T) {
	evict := podworkers.Fail("Evicted", "the disk is full")
	for name, test := range map[string]struct {
		statusFunc podworkers.PodStatusFunc
		err        error
		want       []string
		log        string
	}{
		"evicted": {statusFunc: evict, want: []string{"drop u", "save Failed/Evicted while it runs", "save Failed/Evicted"}},
		"stopped": {want: []string{"drop u"}},
		"a full disk": {
			statusFunc: evict, err: errors.New("no space left"), want: []string{"drop u", "drop u", "save Failed/Evicted while it runs", "save Failed/Evicted"},
			log: "cannot save the terminal status of a pod: after a restart of the agent the pod may run again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			mem := memory.New(memory.Config{})
			ends := &terminalStatuses{runtime: mem, err: test.err}
			syncer, _ := newQuietSyncer(t, mem, func(c *podsync.Config) {
				c.TerminalStatuses, c.Log = ends, slog.New(slog.NewTextHandler(&log, nil))
			})
			pod := plainPod()
			for range 2 {
				_, err := syncer.SyncPod(t.Context(), 0, pod, nil, readPodStatus(t, mem))
				require.NoError(t, err)
			}
			require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), new(int64(1)), test.statusFunc))
			require.NoError(t, syncer.SyncTerminatedPod(t.Context(), pod, readPodStatus(t, mem)))
			assert.False(t, readPodStatus(t, mem).MayRun())
			assert.Equal(t, test.want, ends.said)
			assert.Contains(t, log.String(), test.log)
		})
	}
}
