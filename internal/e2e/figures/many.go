//go:build linux

package main

import (
	"errors"
	"sync"
	"time"
)

// takeMany has many pods come and go at once.
func (r *run) takeMany() {
	var started, removed sample
	before := load()
	for i := range r.tries {
		f := r.harness.bareCrowd()
		o := r.harness.crowd()
		r.say("try %d: start %v %v, remove %v %v", i, f[0], o[0], f[1], o[1])
		started.add(f[0], o[0])
		removed.add(f[1], o[1])
	}
	loads := before + " to " + load()
	r.table.times(itoa(r.many)+" pods written at once → all running", started, atMost(3*time.Second), loads)
	r.table.times(itoa(r.many)+" pods removed at once → all stopped", removed, atMost(2*time.Second), loads)
}

func (w *harness) crowd() (took [2]time.Duration) {
	names := make([]string, w.r.many)
	began := time.Now()
	for i := range names {
		names[i] = w.name("crowd")
		w.write(names[i])
	}
	took[0] = w.awaitLive(began, w.ours(), len(names))
	w.pause(settle)
	began = time.Now()
	for _, name := range names {
		w.remove(name)
	}
	took[1] = w.awaitLive(began, w.ours(), 0)
	w.await(began, "the agent has let go of all", func() bool {
		pods, err := w.agent.Pods()
		return err == nil && len(pods) == 0
	})
	w.pause(2 * time.Second) // What is left is cleared away.
	return took
}

// awaitLive waits until there are so many containers and sandboxes.
func (w *harness) awaitLive(began time.Time, selector map[string]string, n int) time.Duration {
	return w.await(began, itoa(n)+" pods", func() bool {
		containers, sandboxes := w.live(selector)
		return len(containers) == n && sandboxes == n
	})
}

// bareCrowd is the same by bare calls, all at once.
func (w *harness) bareCrowd() (took [2]time.Duration) {
	pods := make([]*bare, w.r.many)
	for i := range pods {
		pods[i] = w.bare(w.name("bare"))
	}
	began := time.Now()
	w.beside(func() error { return all(pods, (*bare).begin) }, func() { took[0] = w.awaitLive(began, theirs, len(pods)) })
	w.pause(settle)
	began = time.Now()
	w.beside(func() error { return all(pods, (*bare).end) }, func() { took[1] = w.awaitLive(began, theirs, 0) })
	w.check(all(pods, (*bare).discard))
	w.pause(time.Second)
	return took
}

// all does something to every pod at once.
func all(pods []*bare, do func(*bare) error) error {
	var group sync.WaitGroup
	errs := make([]error, len(pods))
	for i := range pods {
		group.Go(func() { errs[i] = do(pods[i]) })
	}
	group.Wait()
	return errors.Join(errs...)
}
