package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

// FirstRead is how long ConfigMap and Secret wait for the first state of an object.
const FirstRead = 10 * time.Second

// watchTimeout is the minimum timeout of a watch. It is long, as in the kubelet, because there are many watches.
const watchTimeout = 30 * time.Minute

// Config configures Objects. Objects is required.
type Config struct {
	// Objects lists and watches the objects.
	Objects apiserver.Objects
	// Contact records the result of every call and ends pauses. Nil: New makes one.
	Contact *contact.Contact
	// Changed is called for each followed pod that refers to a changed object, or to an object whose first state
	// arrived after a read had failed. Any goroutine calls it without a lock. It must not block, and may be nil.
	Changed func(uid types.UID)
	// Clock is the clock. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: random numbers.
	Jitter func() float64
	// Log receives a message for each failure. Nil discards.
	Log *slog.Logger
}

// Objects follows the ConfigMaps and Secrets of the pods of a node. Make one with New. Its methods are safe for
// concurrent use.
type Objects struct {
	cfg      Config
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		pods    map[types.UID][]ref
		objects map[ref]*followedObject
	}
}

// followedObject is a ConfigMap or Secret that a watch follows.
type followedObject struct {
	pods   map[types.UID]bool
	synced executor.Latch
	failed bool // a read has failed before the first state
	run    func(context.Context) error
	get    func() metav1.Object // returns nil if the object does not exist
	cancel context.CancelFunc   // nil: the watch has not started
}

// New returns Objects that follow nothing. The error names a fault of the configuration.
func New(cfg Config) (*Objects, error) {
	if cfg.Objects == nil {
		return nil, errors.New("objects: Config.Objects is nil")
	}
	if cfg.Contact == nil {
		cfg.Contact = contact.New(contact.Config{Clock: cfg.Clock})
	}
	contain.SetDefault(&cfg.Changed, func(types.UID) {})
	o := &Objects{cfg: cfg, executor: executor.Over(cfg.Clock)}
	o.wake = o.executor.NewEvent()
	o.mu.pods, o.mu.objects = map[types.UID][]ref{}, map[ref]*followedObject{}
	return o, nil
}

// Run follows the referenced objects until ctx is done, and then returns nil. A second call returns
// runtime.ErrSecondRun.
func (o *Objects) Run(ctx context.Context) error {
	if o.ran.Swap(true) {
		return fmt.Errorf("objects: %w", runtime.ErrSecondRun)
	}
	group := executor.NewGroup(o.executor)
	defer group.Wait()
	for {
		for _, f := range o.unstartedFollowFuncs(ctx) {
			group.Go(f)
		}
		if o.wake.Wait(ctx) != nil {
			return nil
		}
	}
}

// unstartedFollowFuncs returns one function for each object that has no watch yet, and stores in the object the
// function that cancels its watch. The caller runs the returned functions, which watch until they are canceled.
func (o *Objects) unstartedFollowFuncs(ctx context.Context) (start []func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var begin []ref
	for r, x := range o.mu.objects {
		if x.cancel == nil {
			begin = append(begin, r)
		}
	}
	slices.SortFunc(begin, compareRefs) // For a deterministic order.
	for _, r := range begin {
		following, cancel := executor.WithCancel(ctx)
		x := o.mu.objects[r]
		x.cancel = cancel
		start = append(start, func() { _ = x.run(following) })
	}
	return start
}

// FollowReferences follows the objects that a pod refers to, instead of its earlier references. Call it when a pod is
// admitted and when it changes.
func (o *Objects) FollowReferences(pod *v1.Pod) { o.replaceReferences(pod.UID, podReferences(pod)) }

// Release ends FollowReferences for a pod. An object without other references is no longer followed.
func (o *Objects) Release(uid types.UID) { o.replaceReferences(uid, nil) }

// replaceReferences replaces the references of a pod. It stops the watch of an object that no pod refers to,
// and wakes Run to start the watches of new objects. An empty list removes the pod.
func (o *Objects) replaceReferences(uid types.UID, refs []ref) {
	o.mu.Lock()
	before := o.mu.pods[uid]
	if o.mu.pods[uid] = refs; len(refs) == 0 {
		delete(o.mu.pods, uid)
	}
	for _, r := range refs {
		if o.mu.objects[r] == nil {
			o.mu.objects[r] = o.newUnstartedFollowedObject(r)
		}
		o.mu.objects[r].pods[uid] = true
	}
	var ended []context.CancelFunc
	for _, r := range before {
		x := o.mu.objects[r]
		if slices.Contains(refs, r) {
			continue
		}
		if delete(x.pods, uid); len(x.pods) == 0 {
			delete(o.mu.objects, r)
			if x.cancel != nil {
				ended = append(ended, x.cancel)
			}
		}
	}
	o.mu.Unlock()
	for _, cancel := range ended {
		cancel()
	}
	o.wake.Signal()
}

// newUnstartedFollowedObject returns the state of one ConfigMap or Secret, with functions to run its watch and
// to read the object. It does not start the watch.
func (o *Objects) newUnstartedFollowedObject(r ref) *followedObject {
	x := &followedObject{pods: map[types.UID]bool{}, synced: o.executor.NewLatch()}
	if r.secret {
		setFollowerFuncs(o, r, x, o.cfg.Objects.Secret(r.namespace, r.name))
	} else {
		setFollowerFuncs(o, r, x, o.cfg.Objects.ConfigMap(r.namespace, r.name))
	}
	return x
}

// setFollowerFuncs sets the two functions of a followed object: one runs its watch, and the other reads its
// state. If the watch cannot be configured, the first only returns the error, and the second stays nil.
func setFollowerFuncs[T metav1.Object](o *Objects, r ref, target *followedObject, from apiserver.Feed[T]) {
	f, err := feed.New(feed.Config[T]{
		Feed: from, Name: r.namespace + "/" + r.name, Contact: o.cfg.Contact, Clock: o.cfg.Clock, Jitter: o.cfg.Jitter, Log: o.cfg.Log,
		WatchTimeout: watchTimeout,
		Changed:      func() { o.notifyPodsUnlessFirstState(target) },
	})
	if err != nil {
		target.run = func(context.Context) error { return err }
		return
	}
	target.run = f.Run
	target.get = func() metav1.Object {
		if found, ok := f.Get(r.namespace, r.name); ok {
			return found
		}
		return nil
	}
}

// notifyPodsUnlessFirstState opens the latch for the first state of an object and calls Changed for each pod
// that refers to the object. For the first state it calls Changed only if a read has failed, because the other
// reads wait for that state.
func (o *Objects) notifyPodsUnlessFirstState(x *followedObject) {
	o.mu.Lock()
	uids := slices.Sorted(maps.Keys(x.pods))
	if !x.synced.Opened() && !x.failed {
		uids = nil
	}
	x.synced.Open()
	o.mu.Unlock()
	for _, uid := range uids {
		o.cfg.Changed(uid)
	}
}

// ConfigMap implements podsync.Objects. The caller must not change the result.
func (o *Objects) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	return getFollowedOrReadObject(ctx, o, ref{false, namespace, name}, o.cfg.Objects.ConfigMap)
}

// Secret implements podsync.Objects. The caller must not change the result.
func (o *Objects) Secret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	return getFollowedOrReadObject(ctx, o, ref{true, namespace, name}, o.cfg.Objects.Secret)
}

// getFollowedOrReadObject returns the ConfigMap or Secret of a reference. For a watched object it waits at most
// FirstRead for the first state and then returns an error, and it reads any other object from the server. The
// error is runtime.ErrNotFound if the object does not exist.
func getFollowedOrReadObject[T metav1.Object](ctx context.Context, o *Objects, r ref, from func(namespace, name string) apiserver.Feed[T]) (none T, err error) {
	o.mu.Lock()
	x := o.mu.objects[r]
	o.mu.Unlock()
	if x == nil || x.get == nil {
		list, err := from(r.namespace, r.name).List(ctx, "")
		o.cfg.Contact.Report(err)
		if err != nil || len(list.Items) > 0 {
			return append(list.Items, none)[0], err
		}
		return none, notFoundError(r)
	}
	ctx, cancel := o.executor.WithDeadline(ctx, o.executor.Now().Add(FirstRead))
	defer cancel()
	if err := x.synced.Wait(ctx); err != nil && o.markFailedUnlessSynced(x) {
		return none, fmt.Errorf("objects: %s/%s was not read yet: %w", r.namespace, r.name, err)
	}
	if found, ok := x.get().(T); ok {
		return found, nil
	}
	return none, notFoundError(r)
}

// markFailedUnlessSynced records that a read of the object has failed and returns true. If the first state of
// the object has arrived meanwhile, it clears that record and returns false.
func (o *Objects) markFailedUnlessSynced(x *followedObject) (marked bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	x.failed = !x.synced.Opened()
	return x.failed
}

// notFoundError returns an error that wraps runtime.ErrNotFound and names the reference.
func notFoundError(r ref) error {
	return fmt.Errorf("objects: %s/%s: %w", r.namespace, r.name, runtime.ErrNotFound)
}

// compareRefs orders references: ConfigMaps before Secrets, then by namespace and name.
func compareRefs(a, b ref) int {
	if a.secret != b.secret {
		if b.secret {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}
