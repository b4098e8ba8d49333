package runtimetest

import (
	"slices"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// The shell scripts of this package print readyLine and create readyFile when their traps are set.
const (
	readyLine = "ready"
	readyFile = "/tmp/ready"
)

// retryWithLongerDelay is the panic that ends an attempt of a case if a container had not set its
// traps. Case.Run then runs the case again with a longer delay.
type retryWithLongerDelay struct{}

// panicToRetryIfTrapsUnset panics, so that the case runs again with a longer trapDelay. It panics only if three
// conditions hold: withoutTraps is true (a container exited as if it had no signal traps), a container has not
// confirmed its traps, and trapDelay is below WaitTimeout.
func (b *bench) panicToRetryIfTrapsUnset(withoutTraps bool) {
	if withoutTraps && b.trapsUnconfirmed.Load() && b.trapDelay < b.h.WaitTimeout {
		panic(retryWithLongerDelay{})
	}
}

// runForeverUntilReady starts a container with the command Harness.Forever in a new pod, and waits until it has
// probably set its signal traps.
func (b *bench) runForeverUntilReady() (ref runtime.PodRef, sandbox, id string) {
	b.Helper()
	ref, sandbox, id = b.runContainer(b.h.Forever)
	b.Must(b.waitForTrapsOrDelay(id, b.h.scriptedForever), "waiting for the container")
	return ref, sandbox, id
}

// runIgnoreTermUntilReady starts a container with the command Harness.IgnoreTerm in a new pod, and waits until
// it has probably set its signal traps.
func (b *bench) runIgnoreTermUntilReady() (ref runtime.PodRef, sandbox, id string) {
	b.Helper()
	ref, sandbox, id = b.runContainer(b.h.IgnoreTerm)
	b.Must(b.waitForTrapsOrDelay(id, b.h.scriptedIgnoreTerm), "waiting for the container")
	return ref, sandbox, id
}

// waitForTrapsOrDelay waits until a container confirms that it has set its signal traps. If Harness.Ready is
// set, it asks that function, and returns an error after WaitTimeout. If not, a scripted container confirms by
// its log or a file; without a confirmation, waitForTrapsOrDelay records that, waits for trapDelay and returns
// nil. It may run on any goroutine.
func (b *bench) waitForTrapsOrDelay(id string, scripted bool) error {
	if b.h.Ready != nil {
		return b.pollUntilTrue(func() (bool, error) { return b.h.Ready(b.ctx, id) })
	}
	for _, said := range b.trapChecks(scripted) {
		if err := b.pollUntilTrue(func() (bool, error) { return said(id) }); err == nil {
			return nil
		}
	}
	b.trapsUnconfirmed.Store(true)
	return b.executor.Sleep(b.ctx, b.trapDelay)
}

// trapChecks returns functions that check whether a container has set its signal traps: by a log line and by a
// file, as far as the runtime can read logs and run commands. It returns nil if scripted is false, because only
// the default scripts write these.
func (b *bench) trapChecks(scripted bool) (ways []func(id string) (bool, error)) {
	if !scripted {
		return nil
	}
	if b.features().LogReader != nil {
		ways = append(ways, b.hasReadyLine)
	}
	if b.features().Execer != nil {
		ways = append(ways, b.hasReadyFile)
	}
	return ways
}

func (b *bench) hasReadyLine(id string) (bool, error) {
	var log safeBuffer
	err := b.rt.ReadLog(b.ctx, runtime.ReadLogRequest{ContainerID: id}, &log)
	return slices.Contains(strings.Split(log.String(), "\n"), readyLine), err
}

func (b *bench) hasReadyFile(id string) (bool, error) {
	res, err := b.rt.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: []string{"test", "-e", readyFile}})
	return res.ExitCode == 0, err
}

// pollUntilTrue calls condition until it returns true or an error, and returns that error. It returns
// errNotReady after WaitTimeout.
func (b *bench) pollUntilTrue(condition func() (bool, error)) error {
	deadline := b.executor.Now().Add(b.h.WaitTimeout)
	for {
		if ok, err := condition(); ok || err != nil {
			return err
		}
		if b.executor.Now().After(deadline) {
			return errNotReady
		}
		if err := b.executor.Sleep(b.ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
