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
	startRun(m.Run)
	m.awaitChanges() // The source delivers that it has no pods.
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
	exitOnError(err)
	return m
}

// awaitChanges waits for changes and returns them.
func (m *podkeelMux) awaitChanges() (all []change) {
	for len(all) == 0 {
		<-m.wake
		m.buffer = m.TakeAll(m.buffer[:0])
		for _, u := range m.buffer {
			all = append(all, change{u.Op.String(), len(u.Pods)})
		}
	}
	return all
}

func (m *podkeelMux) replacePods(pods []*v1.Pod) []change {
	exitOnError(m.handle.Replace(pods))
	return m.awaitChanges()
}

func (m *podkeelMux) addPod(pod *v1.Pod) []change {
	exitOnError(m.handle.Apply(pod))
	return m.awaitChanges()
}

func (podkeelDriver) newFiles(dir string) files {
	s, err := manifest.New(manifest.Config{Path: dir, NodeName: "node", Period: time.Hour, MaxFiles: 20_000, Log: discardLog()})
	exitOnError(err)
	m := newPodkeelMux("file", s)
	startRun(m.Run)
	return m
}

func (m *podkeelMux) awaitAddedPods() (all []change) { return collectUntilAdded(m.awaitChanges) }

// startRun starts a Run method. The returned function cancels its context and waits until it has returned.
func startRun(method func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- method(ctx) }()
	return func() {
		cancel()
		exitOnError(<-ended)
	}
}
