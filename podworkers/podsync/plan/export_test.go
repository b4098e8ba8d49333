package plan

import (
	"fmt"
	"math"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// What the tests look at one by one.
var (
	Differs        = differenceForReason
	SandboxDiffers = findSandboxDifference
)

// Holding is a memory in which a container is delayed for so long from now, whatever its
// records say.
func (m Memory) Holding(c *v1.Container, now time.Time, delay time.Duration) Memory {
	p := m.containers.findMemory(c.Name)
	p.spec, p.start = crashLoopKey(c), lastStart{}
	p.backoff, p.exit = backoff.State{Delay: delay, LastStart: now}, lastExit{id: "held", attempt: math.MaxUint32, at: now}
	m.setContainer(c.Name, p)
	return m
}

// HoldingSandbox is a memory in which the next sandbox is delayed for so long from now.
func (m Memory) HoldingSandbox(now time.Time, delay time.Duration) Memory {
	m.sandbox = sandboxLoop{id: "held", backoff: backoff.State{Delay: delay, LastStart: now}}
	return m
}

// Dump is all of a memory as a text.
func (m Memory) Dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v %+v\n", m.Initialized, m.sandbox)
	m.containers.forEach(func(name string, p *compactMemory) bool {
		fmt.Fprintf(&b, "%s: %+v\n", name, p.toContainerMemory())
		return true
	})
	return b.String()
}

// Started is the ID of the attempt at a container that was started last.
func (m Memory) Started(container string) string { return m.containers.findMemory(container).start.id }

// Made is what a container was created with.
type Made = creation

// Created is a memory of what a container was created with.
func (m Memory) Created(made Made) Memory {
	past := m.containers.findMemory(made.Name)
	past.created = made
	m.setContainer(made.Name, past)
	return m
}

// MayStart reports whether the start of a created container may be tried again.
func (m Memory) MayStart(container, id string, now time.Time) bool {
	return m.canRetryStart(container, id, now)
}

// Replacing is a memory of a container that was stopped for its next attempt.
func (m Memory) Replacing(name, id string) Memory { return m.withReplacedID(name, id) }
