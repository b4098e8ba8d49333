package plan

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Holding is a memory in which a container is delayed for so long from now, whatever its
// records say.
func (m Memory) Holding(c *v1.Container, now time.Time, delay time.Duration) Memory {
	m.note(c.Name, loop{
		spec: loopKey(c), backoff: backoff.State{Delay: delay, LastStart: now}, exit: exit{id: "held", attempt: math.MaxUint32, at: now},
	})
	return m
}

// HoldingSandbox is a memory in which the next sandbox is delayed for so long from now.
func (m Memory) HoldingSandbox(now time.Time, delay time.Duration) Memory {
	m.sandbox = sandboxLoop{id: "held", backoff: backoff.State{Delay: delay, LastStart: now}}
	return m
}
