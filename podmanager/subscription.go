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
	// TakeAll appends to buf the full names whose pods have changed since the last TakeAll, in the
	// order of their first change, and returns it. The caller reads the present pods itself; they
	// may be unchanged.
	TakeAll(buf []string) []string
	// Close ends the subscription: it gets no more changes, except from a call that is already
	// running. Closing it again does nothing.
	Close()
}

// subscription is the Subscription of a Store.
type subscription struct {
	store *Store
	names *dirty.Set[struct{}]
}

// Subscribe returns a new subscription. It starts with the names of all pods and mirror pods. wake
// is called when there is something to take and there was nothing before. The goroutine that caused
// the change calls it without a lock, perhaps before Subscribe returns. With a nil wake the
// subscriber calls TakeAll when it wants. The subscription must be closed.
func (s *Store) Subscribe(wake func()) Subscription {
	sub := &subscription{store: s, names: dirty.New[struct{}](nil, wake)}
	s.mu.Lock()
	s.mu.subs = append(s.mu.subs, sub)
	pods := append(s.mu.pods.podsInOrderOfArrival(), s.mu.mirrors.podsInOrderOfArrival()...)
	s.mu.Unlock()
	for _, pod := range pods {
		sub.names.Add(types.UID(FullName(pod)), struct{}{})
	}
	return sub
}

// TakeAll implements Subscription.
func (sub *subscription) TakeAll(buf []string) []string {
	for _, e := range sub.names.TakeAll(nil) {
		buf = append(buf, string(e.UID))
	}
	return buf
}

// Close implements Subscription.
func (sub *subscription) Close() {
	s := sub.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.subs = slices.DeleteFunc(slices.Clone(s.mu.subs), func(other *subscription) bool { return other == sub })
}

// GetPodsOfName returns all pods with this name, without mirror pods, the newest first. There are
// several if sources use the same name. The caller may modify the slice.
func (s *Store) GetPodsOfName(namespace, name string) []*v1.Pod {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var pods []*v1.Pod
	for e := s.mu.pods.byName[nameKey{namespace, name}]; e != nil; e = e.older {
		pods = append(pods, e.pod)
	}
	return pods
}

// GetMirrorPodByName returns the mirror pod with a namespace and name.
func (s *Store) GetMirrorPodByName(namespace, name string) (*v1.Pod, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	mirror := s.mu.mirrors.lastArrivedByName(nameKey{namespace, name})
	return mirror, mirror != nil
}

// notifySubscriptions adds changed full names to each subscription, which wakes its subscriber.
func notifySubscriptions(subs []*subscription, names ...string) {
	for _, sub := range subs {
		for _, name := range names {
			sub.names.Add(types.UID(name), struct{}{})
		}
	}
}
