//go:build peer

package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// podkeelMux is a source.Mux with one source.
type podkeelMux struct {
	*source.Mux
	handle *source.Handle
	wake   chan struct{}
	buffer []podmanager.PodUpdate
}

func (podkeelDriver) newMerge() merge {
	handle := source.NewHandleWith(source.HandleConfig{Owned: true, Guarded: true})
	m := newPodkeelMux("api", handle)
	m.handle = handle
	run(m.Run)
	m.await() // The source delivers that it has no pods.
	return m
}

func newPodkeelMux(name string, s source.Source) *podkeelMux {
	m := &podkeelMux{wake: make(chan struct{}, 1)}
	var err error
	m.Mux, err = source.New(source.Config{Sources: map[string]source.Source{name: s}, Log: discardLog(), Wake: func() {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}})
	check(err)
	return m
}

// await waits for changes and returns them.
func (m *podkeelMux) await() (all []change) {
	for len(all) == 0 {
		<-m.wake
		m.buffer = m.TakeAll(m.buffer[:0])
		for _, u := range m.buffer {
			all = append(all, change{u.Op.String(), len(u.Pods)})
		}
	}
	return all
}

func (m *podkeelMux) set(pods []*v1.Pod) []change {
	check(m.handle.Replace(pods))
	return m.await()
}

func (m *podkeelMux) add(pod *v1.Pod) []change {
	check(m.handle.Apply(pod))
	return m.await()
}

func (podkeelDriver) newFiles(dir string) files {
	s, err := manifest.New(manifest.Config{Path: dir, NodeName: "node", Period: time.Hour, MaxFiles: 20_000, Log: discardLog()})
	check(err)
	m := newPodkeelMux("file", s)
	run(m.Run)
	return m
}

func (m *podkeelMux) next() (all []change) { return untilAdded(m.await) }

// run starts a Run method. The result cancels its context and waits for its end.
func run(method func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- method(ctx) }()
	return func() {
		cancel()
		check(<-ended)
	}
}
