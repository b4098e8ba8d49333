package node

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// hungOnce answers its first call when the context of that has ended.
type hungOnce struct{ calls int }

func (h *hungOnce) PodStats(ctx context.Context, _ types.UID) (runtime.PodStats, error) {
	if h.calls++; h.calls == 1 {
		<-ctx.Done()
		return runtime.PodStats{}, ctx.Err()
	}
	return runtime.PodStats{Processes: new(uint64(7))}, nil
}

// TestSampler_ACallerThatGivesUp, be it cancelled or out of time, fails alone: the caller that
// waits for its sample takes one.
func TestSampler_ACallerThatGivesUp(t *testing.T) {
	for name, hasty := range map[string]func() (context.Context, context.CancelFunc){
		"deadline": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Second)
		},
		"cancelled": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, began := executor.Over(nil), time.Now()
			s, reader := newSampler(began), &hungOnce{}
			ctx, cancel := hasty()
			defer cancel()
			var group sync.WaitGroup
			group.Go(func() {
				_, err := s.getRecentSample(ctx, e, reader, "uid")
				assert.ErrorIs(t, err, ctx.Err(), name)
			})
			synctest.Wait()
			stats, err := s.getRecentSample(t.Context(), e, reader, "uid")
			require.NoError(t, err, name)
			assert.Equal(t, uint64(7), *stats.Processes)
			assert.Equal(t, time.Second, time.Since(began))
			group.Wait()
		})
	}
}
