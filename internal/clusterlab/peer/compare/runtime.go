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

// newRuntime returns a runtime with these pods. Their containers run.
func newRuntime(uids ...types.UID) *fakeRuntime {
	r := &fakeRuntime{pods: map[types.UID]fakePod{}}
	for _, uid := range uids {
		r.startPod(uid)
	}
	return r
}

// startPod creates a pod with a running container, or replaces the container of a pod.
func (r *fakeRuntime) startPod(uid types.UID) {
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

// stopPod makes the container and the sandbox of a pod exit.
func (r *fakeRuntime) stopPod(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[uid]
	p.running = false
	r.pods[uid] = p
}

// removePods deletes all pods.
func (r *fakeRuntime) removePods() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.pods)
}

// getPod returns a pod, and false if it does not exist.
func (r *fakeRuntime) getPod(uid types.UID) (fakePod, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, found := r.pods[uid]
	return p, found
}

// listPods returns all pods in order of UID.
func (r *fakeRuntime) listPods() []fakePod {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]fakePod, 0, len(r.pods))
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		all = append(all, r.pods[uid])
	}
	return all
}

// listing lists the pods of a runtime in the types of an implementation. It can build a listing before a measurement.
// Both drivers embed it in their adapters.
type listing[P any] struct {
	mu       sync.Mutex
	runtime  *fakeRuntime
	build    func(fakePod) P
	prepared []P
}

// prepareListing builds the next listing.
func (l *listing[P]) prepareListing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepared = l.readPods()
}

// takeListing returns the prepared listing and discards it. Without a prepared listing it returns the present pods.
func (l *listing[P]) takeListing() []P {
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.prepared; all != nil {
		l.prepared = nil
		return all
	}
	return l.readPods()
}

// readPods returns the present pods. They share no strings with another listing, like the reply of a runtime.
func (l *listing[P]) readPods() []P {
	pods := l.runtime.listPods()
	all := make([]P, len(pods))
	for i, p := range pods {
		p.uid, p.sandboxID, p.containerID = types.UID(strings.Clone(string(p.uid))), strings.Clone(p.sandboxID), strings.Clone(p.containerID)
		all[i] = l.build(p)
	}
	return all
}
