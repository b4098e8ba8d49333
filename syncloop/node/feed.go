package node

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/internal/watchcache"
)

// WatchHistory is the number of changes that a node stores for WatchFrom.
const WatchHistory = 4096

// feedIdle is how long the feed is kept after the last call of List or WatchFrom.
const feedIdle = 5 * time.Minute

// feed is shared by List and WatchFrom. It has one watcher, the states of all pods that the watcher has
// returned, and the last changes. It has no goroutine: each call updates it. It is empty until the
// first call.
type feed struct {
	mu       sync.Mutex // held while the feed is updated
	watcher  *watcher   // nil: empty
	cache    *watchcache.Cache[*v1.Pod]
	version  uint64 // the highest version of the caches so far
	lastUsed time.Time

	reading struct {
		sync.Mutex
		readers []*reader // replaced, never changed in place
	}
}

// listPods updates the cache of pods. It returns the pods in the cache that have the namespace and name of
// options and for which match returns true, and the version of the cache.
func (f *feed) listPods(v *podsView, options ListOptions, match func(*v1.Pod) bool) ([]*v1.Pod, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fillOrUpdateCacheLocked(v)
	namespace, name, one := options.exactPodName()
	if !one {
		return f.cache.List(options.Namespace, match), f.cache.Version()
	}
	var pods []*v1.Pod
	if pod := f.cache.Get(types.NamespacedName{Namespace: namespace, Name: name}); pod != nil && match(pod) {
		pods = append(pods, pod)
	}
	return pods, f.cache.Version()
}

// changesSince updates the cache of pods, and returns the changes after a version. It returns false if the
// cache no longer has all of them.
func (f *feed) changesSince(v *podsView, version uint64) ([]watchcache.Change[*v1.Pod], bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fillOrUpdateCacheLocked(v)
	return f.cache.ChangesSince(version)
}

// fillOrUpdateCacheLocked applies the new changes of pods to the cache. If there is no cache, it adds a watcher
// and makes a cache with all pods. It also stores the present time as the last use of the feed.
func (f *feed) fillOrUpdateCacheLocked(v *podsView) {
	f.lastUsed = v.executor.Now()
	if f.watcher != nil {
		for _, state := range f.watcher.takeChangedStates(v) {
			if pod := v.podAsListed(state); state.Gone {
				f.cache.Remove(pod)
			} else {
				f.cache.Set(pod)
			}
		}
		return
	}
	f.watcher = v.addWatcherNotifiedOfPodChanges(nil, f.notifyReaders)
	var pods []*v1.Pod
	for _, state := range f.watcher.takeChangedStates(v) {
		if !state.Gone {
			pods = append(pods, v.podAsListed(state))
		}
	}
	f.version = max(f.version+1, uint64(f.lastUsed.UnixMicro()))
	f.cache = watchcache.New(f.version, WatchHistory, pods)
}

// podAsListed returns a shallow copy of the pod as an API server shows it. An empty phase becomes Pending. A
// pod that is no longer desired gets a deletion timestamp and, if known, a deletion grace period.
func (v *podsView) podAsListed(state PodState) *v1.Pod {
	pod := *state.Pod
	if pod.Status.Phase == "" {
		pod.Status.Phase = v1.PodPending
	}
	if _, desired := v.manager.GetPodByUID(pod.UID); desired {
		return &pod
	}
	e, _ := v.handlers.TerminatingPod(pod.UID)
	return setDeletionFieldsInPlaceIfUnset(&pod, v.timeOrNow(e.Until), v.workers.View(pod.UID).Grace)
}

// notifyReaders signals every reader that pods may have changed.
func (f *feed) notifyReaders() {
	f.reading.Lock()
	readers := f.reading.readers
	f.reading.Unlock()
	for _, r := range readers {
		r.event.Signal()
	}
}

// addReader adds a reader, so that later calls of notifyReaders signal it.
func (f *feed) addReader(r *reader) {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.reading.readers = append(slices.Clip(f.reading.readers), r)
}

// removeReader removes a reader, and stores the present time as the last use of the feed.
func (f *feed) removeReader(r *reader) {
	f.mu.Lock()
	f.lastUsed = r.view.executor.Now()
	f.mu.Unlock()
	f.reading.Lock()
	defer f.reading.Unlock()
	f.reading.readers = slices.DeleteFunc(slices.Clone(f.reading.readers), func(x *reader) bool { return x == r })
}

// clearIfIdle removes the watcher and the cache if the feed has no reader and was not used for feedIdle. It
// keeps the version of the cache, so that later versions are higher. Housekeeping calls it.
func (f *feed) clearIfIdle(v *podsView) {
	f.reading.Lock()
	watched := len(f.reading.readers) > 0
	f.reading.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if watched || f.watcher == nil || v.executor.Now().Sub(f.lastUsed) < feedIdle {
		return
	}
	v.removeWatcher(f.watcher)
	f.version = f.cache.Version()
	f.watcher, f.cache = nil, nil
}
