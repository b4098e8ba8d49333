//go:build peer

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// fakeRuntime has pods with one sandbox and one container. Both drivers read it through an adapter.
type fakeRuntime struct {
	mu     sync.Mutex
	pods   map[types.UID]fakePod
	serial int
}

// fakePod is a pod of a fakeRuntime.
type fakePod struct {
	uid         types.UID
	sandboxID   string
	containerID string
	running     bool
}

// newRuntime returns a runtime in which these pods run.
func newRuntime(uids ...types.UID) *fakeRuntime {
	r := &fakeRuntime{pods: map[types.UID]fakePod{}}
	for _, uid := range uids {
		r.start(uid)
	}
	return r
}

// start creates a pod with a running container, or replaces the container of a pod.
func (r *fakeRuntime) start(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, found := r.pods[uid]
	if !found {
		r.serial++
		p = fakePod{uid: uid, sandboxID: fmt.Sprintf("%064x", r.serial)}
	}
	r.serial++
	p.containerID, p.running = fmt.Sprintf("%064x", r.serial), true
	r.pods[uid] = p
}

// stop makes the container and the sandbox of a pod exit.
func (r *fakeRuntime) stop(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[uid]
	p.running = false
	r.pods[uid] = p
}

// remove deletes all pods.
func (r *fakeRuntime) remove() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.pods)
}

// get returns a pod, and false if it does not exist.
func (r *fakeRuntime) get(uid types.UID) (fakePod, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, found := r.pods[uid]
	return p, found
}

// list returns all pods in order of UID.
func (r *fakeRuntime) list() []fakePod {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]fakePod, 0, len(r.pods))
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		all = append(all, r.pods[uid])
	}
	return all
}

// listing builds the listing of a runtime in the types of an implementation before it is measured. It implements the
// part of an adapter that both drivers share.
type listing[P any] struct {
	mu       sync.Mutex
	runtime  *fakeRuntime
	build    func(fakePod) P
	prepared []P
}

// prepare builds the next listing.
func (l *listing[P]) prepare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepared = l.read()
}

// take returns the prepared listing once, and otherwise the present pods.
func (l *listing[P]) take() []P {
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.prepared; all != nil {
		l.prepared = nil
		return all
	}
	return l.read()
}

// read returns the present pods. They share no strings with another listing, like the reply of a runtime.
func (l *listing[P]) read() []P {
	pods := l.runtime.list()
	all := make([]P, len(pods))
	for i, p := range pods {
		p.uid, p.sandboxID, p.containerID = types.UID(strings.Clone(string(p.uid))), strings.Clone(p.sandboxID), strings.Clone(p.containerID)
		all[i] = l.build(p)
	}
	return all
}
