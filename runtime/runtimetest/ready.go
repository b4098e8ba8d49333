package runtimetest

import (
	"slices"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// readyLine is what the suite's scripts print, and readyFile is the file that
// they make, when their traps are set.
const (
	readyLine = "ready"
	readyFile = "/tmp/ready"
)

// tooEarly is the panic that ends a case whose container had not set its traps.
// Case.Run runs the case again, with more time.
type tooEarly struct{}

// early runs the case again, with more time, if a container ended as one does
// that had not set its traps, nothing had told that it has, and there is more
// time to be had.
func (b *bench) early(withoutTraps bool) {
	if withoutTraps && b.unsure.Load() && b.head < b.h.WaitTimeout {
		panic(tooEarly{})
	}
}

// runForever is a container that ends on TERM, in a new pod.
func (b *bench) runForever() (ref runtime.PodRef, sandbox, id string) {
	b.Helper()
	ref, sandbox, id = b.run(b.h.Forever)
	b.Must(b.awaitReady(id, b.h.scriptedForever), "waiting for the container")
	return ref, sandbox, id
}

// runDeaf is a container that ignores TERM, in a new pod.
func (b *bench) runDeaf() (ref runtime.PodRef, sandbox, id string) {
	b.Helper()
	ref, sandbox, id = b.run(b.h.IgnoreTerm)
	b.Must(b.awaitReady(id, b.h.scriptedDeaf), "waiting for the container")
	return ref, sandbox, id
}

// awaitReady waits until a container says that its traps are set, or for as
// long as it gets where nothing says so. It is called by any goroutine.
func (b *bench) awaitReady(id string, scripted bool) error {
	if b.h.Ready != nil {
		return b.poll(func() (bool, error) { return b.h.Ready(b.ctx, id) })
	}
	for _, said := range b.handshakes(scripted) {
		if err := b.poll(func() (bool, error) { return said(id) }); err == nil {
			return nil
		}
	}
	b.unsure.Store(true)
	return b.executor.Sleep(b.ctx, b.head)
}

// handshakes are the ways in which a container that runs the suite's script can
// say that its traps are set.
func (b *bench) handshakes(scripted bool) (ways []func(id string) (bool, error)) {
	if !scripted {
		return nil
	}
	if b.features().LogReader != nil {
		ways = append(ways, b.readyOnLog)
	}
	if b.features().Execer != nil {
		ways = append(ways, b.readyByFile)
	}
	return ways
}

func (b *bench) readyOnLog(id string) (bool, error) {
	var log text
	err := b.rt.ReadLog(b.ctx, runtime.ReadLogRequest{ContainerID: id}, &log)
	return slices.Contains(strings.Split(log.String(), "\n"), readyLine), err
}

func (b *bench) readyByFile(id string) (bool, error) {
	res, err := b.rt.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: []string{"test", "-e", readyFile}})
	return res.ExitCode == 0, err
}

// poll asks until the answer is yes, an error, or the end of WaitTimeout.
func (b *bench) poll(ask func() (bool, error)) error {
	deadline := b.executor.Now().Add(b.h.WaitTimeout)
	for {
		if ok, err := ask(); ok || err != nil {
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
