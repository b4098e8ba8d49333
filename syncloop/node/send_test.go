package node_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/node"
)

// sink writes down what it is told. It fails the first call.
type sink struct {
	began time.Time
	mu    sync.Mutex
	calls int
	lines []string
}

func (s *sink) Send(_ context.Context, u status.Update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls == 1 {
		return errors.New("not now")
	}
	s.lines = append(s.lines, fmt.Sprintf("%s %s %s removed=%t", time.Since(s.began), u.Pod.Name, u.Status.Phase, u.Removed))
	return nil
}

// TestNode_Sink: statuses reach the sink, also those of the node's own end, and
// the end of a pod only when nothing of it runs (ST-12, ST-15, ST-17).
func TestNode_Sink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &sink{began: time.Now()}
		n := run(t, node.Config{Sink: told})
		job := pod("job", "sh", "-c", "sleep 5; exit 0")
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		require.NoError(t, n.Set(job))
		time.Sleep(10 * time.Second)
		require.NoError(t, n.stop())
		require.NotEmpty(t, told.lines)
		assert.Equal(t, "1s job Running removed=false", told.lines[0], "the first call is made again")
		assert.Equal(t, "5s job Succeeded removed=false", told.lines[len(told.lines)-1])
	})
}
