package feed

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/feed/internal/follow"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// Observer sees every state of a pod that the server shows. Its methods are called by the
// goroutine of Pods.Run, before the change is handed over, and must not block.
type Observer interface {
	// Observe is called with each new state of a pod, which is read only.
	Observe(pod *v1.Pod)
	// Gone is called when a pod is not at the server any more.
	Gone(uid types.UID)
}

// PodsConfig is what Pods is made of. Feed is required.
type PodsConfig struct {
	// Feed is the pods of the node.
	Feed apiserver.Feed[*v1.Pod]
	// NodeName is the node whose pods are handed over: a server that selects nothing would
	// have all run here. Empty: those of all nodes.
	NodeName string
	// Contact learns from every call, and ends pauses. Nil: one of its own.
	Contact *contact.Contact
	// Gate is called once per Run; nothing is handed over before it has returned nil. It
	// ends with ctx. Nil: there is no gate.
	Gate func(ctx context.Context) error
	// Observer, if not nil, sees every state of each pod.
	Observer Observer
	// Clock is what time it is. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: a random one.
	Jitter func() float64
	// Log gets a line for each failure. Nil discards.
	Log *slog.Logger
	// Failed is called after each failure. It may be nil.
	Failed func(err error)
}

// Pods is a source.Source of the pods that the API server has bound to the node. Make one
// with NewPods.
type Pods struct {
	cfg      PodsConfig
	follower *Follower[*v1.Pod]
	executor executor.Executor
	wake     executor.Event
	known    map[types.UID]*knownPod // belongs to Run, as does what follows
	round    uint64                  // counts snapshots
	told     int                     // changes since forget
	handed   bool                    // a snapshot, by this Run

	mu struct {
		sync.Mutex
		wrote map[types.UID]string // the resource versions of our own writes
	}
}

// knownPod is a pod as the server has shown it, and as it was handed over.
type knownPod struct {
	server, handed *v1.Pod
	round          uint64 // of the last snapshot that it was in
}

var _ source.Source = (*Pods)(nil)

// NewPods returns a source that has read nothing yet. Its error says what is wrong with the
// configuration.
func NewPods(cfg PodsConfig) (*Pods, error) {
	p := &Pods{cfg: cfg, executor: executor.Over(cfg.Clock), known: map[types.UID]*knownPod{}}
	p.wake = p.executor.NewEvent()
	p.mu.wrote = map[types.UID]string{}
	var err error
	p.follower, err = New(Config[*v1.Pod]{
		Feed: cfg.Feed, Name: "pods", Contact: cfg.Contact, Changed: p.wake.Signal,
		Clock: cfg.Clock, Jitter: cfg.Jitter, Log: cfg.Log, Failed: cfg.Failed,
	})
	return p, err
}

// Run implements source.Source. It follows the pods while it waits for the gate.
func (p *Pods) Run(ctx context.Context, sink source.Sink) error {
	following, cancel := executor.WithCancel(ctx)
	group := executor.NewGroup(p.executor)
	group.Go(func() { _ = p.follower.Run(following) })
	defer group.Wait() // Also if the Observer panics.
	defer cancel()
	err := p.publish(ctx, sink)
	if ctx.Err() != nil || errors.Is(err, executor.ErrCrashed) {
		return nil
	}
	return err
}

// publish hands over what has changed, after each change or once for several: change by
// change, if the sink takes that and the changes are known, and otherwise as a snapshot.
func (p *Pods) publish(ctx context.Context, sink source.Sink) error {
	if p.cfg.Gate != nil {
		if err := p.cfg.Gate(ctx); err != nil {
			return err
		}
	}
	p.handed = false
	single, _ := sink.(source.ChangeSink)
	for {
		changes, known := p.follower.changes() // Before Objects: what comes between is told twice, and no news then.
		if known && single != nil && p.handed {
			p.tell(changes, single)
		} else if pods, ok := p.follower.Objects(); ok {
			if snapshot, news := p.snapshot(pods); news {
				sink.Set(source.Snapshot{Pods: snapshot, Guarded: true})
			}
		}
		if err := p.wake.Wait(ctx); err != nil {
			return err
		}
	}
}

// tell hands over changes, in their order.
func (p *Pods) tell(changes []follow.Change[*v1.Pod], sink source.ChangeSink) {
	for _, c := range changes {
		k := p.known[c.Object.UID]
		switch {
		case !c.Gone && !p.elsewhere(c.Object):
			if k = p.know(c.Object); p.changed(k, c.Object) {
				sink.Apply(k.handed)
			}
		case k != nil:
			sink.Delete(c.Object.UID)
			p.gone(c.Object.UID)
		}
	}
	if p.told += len(changes); p.told >= len(p.known) { // Or each change would cost as much as there are pods.
		p.forget()
	}
}

// know returns what is known of a pod, which is nothing of a new one.
func (p *Pods) know(pod *v1.Pod) *knownPod {
	k := p.known[pod.UID]
	if k == nil {
		k = &knownPod{}
		p.known[pod.UID] = k
	}
	return k
}

func (p *Pods) gone(uid types.UID) {
	delete(p.known, uid)
	if p.cfg.Observer != nil {
		p.cfg.Observer.Gone(uid)
	}
}

// elsewhere reports whether a pod is not one of this node.
func (p *Pods) elsewhere(pod *v1.Pod) bool {
	return p.cfg.NodeName != "" && pod.Spec.NodeName != p.cfg.NodeName
}

// snapshot puts in the place of each pod the one that was handed over, if nothing that the
// node needs to know has changed, and reports whether there is any news. It overwrites pods.
func (p *Pods) snapshot(pods []*v1.Pod) (snapshot []*v1.Pod, news bool) {
	news = !p.handed
	p.handed = true
	p.round++
	pods = slices.DeleteFunc(pods, p.elsewhere)
	there := 0 // by UID
	for i, pod := range pods {
		k := p.know(pod)
		if p.changed(k, pod) {
			news = true
		}
		if k.round != p.round {
			there++
		}
		k.round, pods[i] = p.round, k.handed
	}
	if there < len(p.known) { // Or a look at all of them would cost as much again.
		news = true
		p.drop()
	}
	p.forget()
	return pods, news
}

// changed takes the state of a pod, and reports whether it is to be handed over.
func (p *Pods) changed(k *knownPod, pod *v1.Pod) bool {
	if k.server == pod {
		return false
	}
	if p.cfg.Observer != nil {
		p.cfg.Observer.Observe(pod)
	}
	k.server = pod
	if k.handed != nil && p.isOwn(pod) && patch.OnlyNodeFieldsDiffer(k.handed, pod) {
		return false
	}
	k.handed = pod
	return true
}

// drop drops the pods that are not in the last snapshot, in order.
func (p *Pods) drop() {
	for _, uid := range slices.Sorted(maps.Keys(p.known)) {
		if p.known[uid].round != p.round {
			p.gone(uid)
		}
	}
}

// forget drops the writes of pods that are gone, also those whose answers came after that.
func (p *Pods) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = 0
	maps.DeleteFunc(p.mu.wrote, func(uid types.UID, _ string) bool {
		_, stays := p.known[uid]
		return !stays
	})
}

// isOwn reports whether a state of a pod is not newer than our own last write of it.
func (p *Pods) isOwn(pod *v1.Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, p.mu.wrote[pod.UID])
	return err == nil && order <= 0
}

// RecordWrite says that the server has answered a status write of this node with this pod. It is
// called after each such write, at any time; the pod is not kept.
func (p *Pods) RecordWrite(pod *v1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.wrote[pod.UID] = pod.ResourceVersion
}

// Health returns how the pods are followed.
func (p *Pods) Health() Health { return p.follower.Health() }
