package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// streamFunc is a stream of events that is its method.
type streamFunc func(ctx context.Context, sink func(runtime.Event)) error

func (f streamFunc) Events(ctx context.Context, sink func(runtime.Event)) error { return f(ctx, sink) }

var errBroken = errors.New("the stream has broken")

// streams are runtimes with a bad stream of events.
var streams = map[string]func(inner runtime.EventSource, clk clock.Clock) runtime.EventSource{
	"breaks at once": func(runtime.EventSource, clock.Clock) runtime.EventSource {
		return streamFunc(func(context.Context, func(runtime.Event)) error { return errBroken })
	},
	"breaks after one event": func(runtime.EventSource, clock.Clock) runtime.EventSource {
		return streamFunc(func(_ context.Context, sink func(runtime.Event)) error {
			sink(runtime.Event{UID: "uid-keeper"})
			return errBroken
		})
	},
	"ends after one event": func(runtime.EventSource, clock.Clock) runtime.EventSource {
		return streamFunc(func(_ context.Context, sink func(runtime.Event)) error {
			sink(runtime.Event{UID: "uid-keeper"})
			return nil
		})
	},
	"breaks after one event of an unknown pod": func(runtime.EventSource, clock.Clock) runtime.EventSource {
		n := 0
		return streamFunc(func(_ context.Context, sink func(runtime.Event)) error {
			n++
			sink(runtime.Event{UID: types.UID(fmt.Sprint("stranger-", n))})
			return errBroken
		})
	},
	"names ever new pods that do not exist": func(inner runtime.EventSource, clk clock.Clock) runtime.EventSource {
		return addStrangeEvents(inner, clk, func(n int) types.UID { return types.UID(fmt.Sprint("stranger-", n)) })
	},
	"names one pod that does not exist": func(inner runtime.EventSource, clk clock.Clock) runtime.EventSource {
		return addStrangeEvents(inner, clk, func(int) types.UID { return "stranger" })
	},
	"names no pod": func(inner runtime.EventSource, clk clock.Clock) runtime.EventSource {
		return addStrangeEvents(inner, clk, func(int) types.UID { return "" })
	},
}

// addStrangeEvents adds an event of another pod to a stream every 10 ms.
func addStrangeEvents(inner runtime.EventSource, clk clock.Clock, uid func(n int) types.UID) runtime.EventSource {
	return streamFunc(func(ctx context.Context, sink func(runtime.Event)) error {
		executor.Over(clk).Go(func() {
			for n := 0; podworkers.Wait(ctx, 10*time.Millisecond) == nil; n++ {
				sink(runtime.Event{UID: uid(n)})
			}
		})
		return inner.Events(ctx, sink)
	})
}

// TestHotLoop_EveryBadStream: however a stream of events breaks, and whatever it names, the node
// makes few calls, and those that only look are few too.
func TestHotLoop_EveryBadStream(t *testing.T) {
	base := &baselines{}
	for name, stream := range streams {
		playEachKind(t, base, name, oneBackoff, cell{stream: stream})
	}
}

// TestHotLoop_ABadStreamCostsFewLooks: a bad stream is opened, and because of it pods are inspected
// and listed, a few times a minute: with the backoff of every other failure.
func TestHotLoop_ABadStreamCostsFewLooks(t *testing.T) {
	const (
		minutes   = int(faultEnds / time.Minute)
		perMinute = 60/5 + 1 // The longest pause is five seconds.
		atFirst   = 8        // until it is
	)
	cellOf := func(stream func(runtime.EventSource, clock.Clock) runtime.EventSource) cell {
		return cell{shape: "two", policy: v1.RestartPolicyAlways, events: true, stream: stream}
	}
	good := cellOf(nil)
	usual := good.playCell(t)
	require.True(t, usual.well, usual.left)
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			bad := cellOf(stream)
			out := bad.playCell(t)
			require.Empty(t, out.spins)
			assert.True(t, out.well, out.left)
			most := minutes*perMinute + atFirst
			assert.LessOrEqual(t, out.asked["Events"], most, "opened")
			assert.LessOrEqual(t, out.asked["PodStatus"], usual.asked["PodStatus"]+2*most, "inspected; as usual %d", usual.asked["PodStatus"])
			assert.LessOrEqual(t, out.asked["ListPods"], usual.asked["ListPods"]+int(faultEnds/time.Second)+most, "listed: each second where no stream stands")
		})
	}
}
