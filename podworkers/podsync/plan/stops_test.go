package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// The deadline of a stop only moves to an earlier time, and a memory is a value.
func TestMemory_Stops(t *testing.T) {
	var zero plan.Memory
	assert.Equal(t, plan.Stop{ID: "a0"}, zero.Stop("a0"))
	stop := zero.Stop("a0").Within(epoch.Add(time.Minute))
	assert.Equal(t, epoch.Add(time.Minute), stop.By)
	assert.Equal(t, stop, stop.Within(epoch.Add(time.Hour)))
	assert.Equal(t, epoch, stop.Within(epoch).By)
	one := zero.WithStops(stop)
	other := plan.Stop{ID: "b0", HookBegun: true}
	two := one.WithStops(other, stop.Within(epoch))
	assert.Equal(t, zero, plan.Memory{}.WithStops())
	assert.Equal(t, stop, one.Stop("a0"))
	assert.Equal(t, plan.Stop{ID: "b0"}, one.Stop("b0"))
	assert.Equal(t, epoch, two.Stop("a0").By)
	assert.Equal(t, zero, two.WithStops(plan.Stop{ID: "a0"}, plan.Stop{ID: "b0"}), "nothing is left")
}

// A decision forgets the stops of containers that it does not stop, but not that the runtime was
// wrong about one. A decision that stops the pod forgets none.
func TestDecide_ForgetsStops(t *testing.T) {
	stops := []plan.Stop{
		{ID: "x0", By: epoch, HookBegun: true},
		{ID: "a0", By: epoch, HookBegun: true},
		{ID: "b0", By: epoch, HookBegun: true, NotConfirmed: true},
	}
	w := newHarness(t, "pod main=a,b\nsandbox 0 ready\na 0 running\nb 0 running\nx 0 running")
	in := w.planInput()
	in.Memory = in.Memory.WithStops(stops...)
	m := plan.Decide(w.pod, w.st, in).Memory
	assert.Equal(t, stops[0], m.Stop("x0"), "it is stopped")
	assert.Equal(t, plan.Stop{ID: "a0"}, m.Stop("a0"))
	assert.Equal(t, plan.Stop{ID: "b0", NotConfirmed: true}, m.Stop("b0"))
	w.st.Sandboxes[0].Ready = false
	m = plan.Decide(w.pod, w.st, in).Memory
	for _, stop := range stops {
		assert.Equal(t, stop, m.Stop(stop.ID))
	}
	assert.Equal(t, stops[1], in.Memory.Stop("a0"), "the input is only read")
}
