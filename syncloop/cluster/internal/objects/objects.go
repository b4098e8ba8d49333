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

// watchTimeout is after how long a watch begins anew at the earliest, as in the kubelet: there
// are many of them.
const watchTimeout = 30 * time.Minute

// Config is what Objects is made of. Objects is required.
type Config struct {
	// Objects is where they come from.
	Objects apiserver.Objects
	// Contact learns from every call, and ends pauses. Nil: one of its own.
	Contact *contact.Contact
	// Changed is called for each kept pod that names an object that has changed, or whose
	// first state came after a read of it had failed, by any goroutine and with no lock held.
	// It must not block, and may be nil.
	Changed func(uid types.UID)
	// Clock is what time it is. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: a random one.
	Jitter func() float64
	// Log gets a line for each failure. Nil discards.
	Log *slog.Logger
}

// Objects has the ConfigMaps and Secrets of the pods of a node. Make one with New. Its methods
// are safe for concurrent use.
type Objects struct {
	cfg      Config
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		pods    map[types.UID][]ref
		objects map[ref]*object
	}
}

// object is one that is followed.
type object struct {
	pods   map[types.UID]bool
	synced executor.Latch
	failed bool // a read of it did not wait for the first state
	run    func(context.Context) error
	get    func() metav1.Object // nil: there is none
	cancel context.CancelFunc   // nil: it does not run
}

// New returns Objects that follow nothing yet. Its error says what is wrong with the
// configuration.
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
	o.mu.pods, o.mu.objects = map[types.UID][]ref{}, map[ref]*object{}
	return o, nil
}

// Run follows what pods name until ctx ends, and then returns nil. Another call
// returns runtime.ErrSecondRun.
func (o *Objects) Run(ctx context.Context) error {
	if o.ran.Swap(true) {
		return fmt.Errorf("objects: %w", runtime.ErrSecondRun)
	}
	group := executor.NewGroup(o.executor)
	defer group.Wait()
	for {
		for _, f := range o.start(ctx) {
			group.Go(f)
		}
		if o.wake.Wait(ctx) != nil {
			return nil
		}
	}
}

// start returns what is to be run for the objects that do not run yet.
func (o *Objects) start(ctx context.Context) (start []func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var begin []ref
	for r, x := range o.mu.objects {
		if x.cancel == nil {
			begin = append(begin, r)
		}
	}
	slices.SortFunc(begin, compare) // For the same order in each run.
	for _, r := range begin {
		following, cancel := executor.WithCancel(ctx)
		x := o.mu.objects[r]
		x.cancel = cancel
		start = append(start, func() { _ = x.run(following) })
	}
	return start
}

// FollowReferences has the objects followed that a pod names, in place of those that it named before. It
// is called when a pod is admitted and when it has changed.
func (o *Objects) FollowReferences(pod *v1.Pod) { o.keep(pod.UID, references(pod)) }

// Release ends what Keep began: an object that no other pod names is followed no longer.
func (o *Objects) Release(uid types.UID) { o.keep(uid, nil) }

func (o *Objects) keep(uid types.UID, refs []ref) {
	o.mu.Lock()
	before := o.mu.pods[uid]
	if o.mu.pods[uid] = refs; len(refs) == 0 {
		delete(o.mu.pods, uid)
	}
	for _, r := range refs {
		if o.mu.objects[r] == nil {
			o.mu.objects[r] = o.newObject(r)
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

func (o *Objects) newObject(r ref) *object {
	x := &object{pods: map[types.UID]bool{}, synced: o.executor.NewLatch()}
	if r.secret {
		follow(o, r, x, o.cfg.Objects.Secret(r.namespace, r.name))
	} else {
		follow(o, r, x, o.cfg.Objects.ConfigMap(r.namespace, r.name))
	}
	return x
}

// follow makes the follower of an object.
func follow[T metav1.Object](o *Objects, r ref, x *object, from apiserver.Feed[T]) {
	f, err := feed.New(feed.Config[T]{
		Feed: from, Name: r.namespace + "/" + r.name, Contact: o.cfg.Contact, Clock: o.cfg.Clock, Jitter: o.cfg.Jitter, Log: o.cfg.Log,
		WatchTimeout: watchTimeout,
		Changed:      func() { o.changed(x) },
	})
	if err != nil {
		x.run = func(context.Context) error { return err }
		return
	}
	x.run = f.Run
	x.get = func() metav1.Object {
		if found, ok := f.Get(r.namespace, r.name); ok {
			return found
		}
		return nil
	}
}

// changed tells of each pod that names an object. Reads wait for its first state, so that is
// news only after one that has failed.
func (o *Objects) changed(x *object) {
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

// ConfigMap implements podsync.Objects. What it returns is read only.
func (o *Objects) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	return find(ctx, o, ref{false, namespace, name}, o.cfg.Objects.ConfigMap)
}

// Secret implements podsync.Objects. What it returns is read only.
func (o *Objects) Secret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	return find(ctx, o, ref{true, namespace, name}, o.cfg.Objects.Secret)
}

func find[T metav1.Object](ctx context.Context, o *Objects, r ref, from func(namespace, name string) apiserver.Feed[T]) (none T, err error) {
	o.mu.Lock()
	x := o.mu.objects[r]
	o.mu.Unlock()
	if x == nil || x.get == nil {
		list, err := from(r.namespace, r.name).List(ctx, "")
		o.cfg.Contact.Report(err)
		if err != nil || len(list.Items) > 0 {
			return append(list.Items, none)[0], err
		}
		return none, missing(r)
	}
	ctx, cancel := o.executor.WithDeadline(ctx, o.executor.Now().Add(FirstRead))
	defer cancel()
	if err := x.synced.Wait(ctx); err != nil && o.fail(x) {
		return none, fmt.Errorf("objects: %s/%s was not read yet: %w", r.namespace, r.name, err)
	}
	if found, ok := x.get().(T); ok {
		return found, nil
	}
	return none, missing(r)
}

// fail notes that a read has not seen the first state, unless that has come meanwhile.
func (o *Objects) fail(x *object) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	x.failed = !x.synced.Opened()
	return x.failed
}

func missing(r ref) error {
	return fmt.Errorf("objects: %s/%s: %w", r.namespace, r.name, runtime.ErrNotFound)
}

// compare orders references: ConfigMaps first, then by name.
func compare(a, b ref) int {
	if a.secret != b.secret {
		if b.secret {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}
