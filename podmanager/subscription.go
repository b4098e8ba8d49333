package podmanager

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/dirty"
)

// Subscription collects the full names whose pods or mirror pods have changed. Its
// methods may be called from any goroutine.
type Subscription interface {
	// TakeAll appends to buf the full names that have changed since the last TakeAll, in
	// the order in which they changed first, and returns it. What the pods of such a name
	// are now is for the caller to read; it may be what it was before.
	TakeAll(buf []string) []string
	// Close ends the subscription: it gets no more changes, except from a call that is
	// already under way. Closing it again does nothing.
	Close()
}

// subscription is the one of a Store.
type subscription struct {
	store *Store
	names *dirty.Set[struct{}]
}

// Subscribe returns a new subscription, which begins with the names of all pods and
// mirror pods. wake is called, by the goroutine that caused the change and without any
// lock, when there is something to TakeAll and there was nothing before; it may be called
// before Subscribe returns. Nil means that the subscriber looks of its own accord. The
// subscription must be closed when it is not needed any more.
func (s *Store) Subscribe(wake func()) Subscription {
	sub := &subscription{store: s, names: dirty.New[struct{}](nil, wake)}
	s.mu.Lock()
	s.mu.subs = append(s.mu.subs, sub)
	pods := append(s.mu.pods.pods(), s.mu.mirrors.pods()...)
	s.mu.Unlock()
	for _, pod := range pods {
		sub.names.Add(types.UID(FullName(pod)), struct{}{})
	}
	return sub
}

func (sub *subscription) TakeAll(buf []string) []string {
	for _, e := range sub.names.TakeAll(nil) {
		buf = append(buf, string(e.UID))
	}
	return buf
}

func (sub *subscription) Close() {
	s := sub.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.subs = slices.DeleteFunc(slices.Clone(s.mu.subs), func(other *subscription) bool { return other == sub })
}

// GetPodsOfName returns all pods, mirrors excepted, that have this name, the newest
// first. There are several if sources name the same one. The slice is the caller's.
func (s *Store) GetPodsOfName(namespace, name string) []*v1.Pod {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var pods []*v1.Pod
	for e := s.mu.pods.byName[nameKey{namespace, name}]; e != nil; e = e.older {
		pods = append(pods, e.pod)
	}
	return pods
}

// GetMirrorPodByName finds the mirror pod by namespace and name.
func (s *Store) GetMirrorPodByName(namespace, name string) (*v1.Pod, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	mirror := s.mu.mirrors.newestByName(nameKey{namespace, name})
	return mirror, mirror != nil
}

// notifySubscriptions tells the subscriptions of names that were changed before the lock was
// released.
func notifySubscriptions(subs []*subscription, names ...string) {
	for _, sub := range subs {
		for _, name := range names {
			sub.names.Add(types.UID(name), struct{}{})
		}
	}
}
