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

// Observer receives every state of a pod that the server shows. The goroutine of Pods.Run calls its methods before it
// publishes the change. They must not block.
type Observer interface {
	// Observe is called with each new state of a pod. The observer must not change the pod.
	Observe(pod *v1.Pod)
	// Gone is called when a pod is no longer at the server.
	Gone(uid types.UID)
}

// PodsConfig configures Pods. Feed is required.
type PodsConfig struct {
	// Feed lists and watches the pods of the node.
	Feed apiserver.Feed[*v1.Pod]
	// NodeName is the node whose pods are published. A server that ignores the field selector would otherwise make this
	// node run all pods. Empty: pods of all nodes.
	NodeName string
	// Contact records the result of every call and ends pauses. Nil: the Follower makes one.
	Contact *contact.Contact
	// Gate is called once per Run. Pods publishes nothing before Gate has returned nil. Gate returns when ctx is done.
	// Nil: no gate.
	Gate func(ctx context.Context) error
	// Observer receives every state of each pod. It may be nil.
	Observer Observer
	// Clock is the clock. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: random numbers.
	Jitter func() float64
	// Log receives a message for each failure. Nil discards.
	Log *slog.Logger
	// Failed is called after each failure. It may be nil.
	Failed func(err error)
}

// Pods is a source.Source of the pods that are bound to the node. Make one with NewPods.
type Pods struct {
	cfg                PodsConfig
	follower           *Follower[*v1.Pod]
	executor           executor.Executor
	wake               executor.Event
	known              map[types.UID]*knownPod // this field and the next three belong to Run
	round              uint64                  // number of snapshots
	changesSinceForget int                     // changes since forgetWritesOfGonePods
	published          bool                    // whether this Run has published a snapshot

	mu struct {
		sync.Mutex
		wrote map[types.UID]string // resource versions of this node's own writes
	}
}

// knownPod is a pod as the server has shown it, and as it was published.
type knownPod struct {
	server, published *v1.Pod
	round             uint64 // the last snapshot that contains the pod
}

var _ source.Source = (*Pods)(nil)

// NewPods returns a source that has read nothing. The error names a fault of the configuration.
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
	err := p.publishChanges(ctx, sink)
	if ctx.Err() != nil || errors.Is(err, executor.ErrCrashed) {
		return nil
	}
	return err
}

// publishChanges first waits for Config.Gate. It then publishes the pods to the sink at once and after each
// change or group of changes, until ctx is done. It publishes single changes if the sink supports that and the
// changes are known, and otherwise a snapshot.
func (p *Pods) publishChanges(ctx context.Context, sink source.Sink) error {
	if p.cfg.Gate != nil {
		if err := p.cfg.Gate(ctx); err != nil {
			return err
		}
	}
	p.published = false
	single, _ := sink.(source.ChangeSink)
	for {
		changes, known := p.follower.takeChangesUnlessOnlyListKnown() // Before Objects: a change in between is seen twice, and the second time it is no change.
		if known && single != nil && p.published {
			p.applyChanges(changes, single)
		} else if pods, ok := p.follower.Objects(); ok {
			if snapshot, news := p.nextSnapshot(pods); news {
				sink.Set(source.Snapshot{Pods: snapshot, Guarded: true})
			}
		}
		if err := p.wake.Wait(ctx); err != nil {
			return err
		}
	}
}

// applyChanges publishes single changes in their order. It skips a change that only this node has made, and
// publishes a pod that is moved to another node as deleted. From time to time it forgets recorded writes of
// pods that are gone.
func (p *Pods) applyChanges(changes []follow.Change[*v1.Pod], sink source.ChangeSink) {
	for _, c := range changes {
		k := p.known[c.Object.UID]
		switch {
		case !c.Gone && !p.isOnOtherNode(c.Object):
			if k = p.getOrAddKnownPod(c.Object); p.storeAndObserveKnownPod(k, c.Object) {
				sink.Apply(k.published)
			}
		case k != nil:
			sink.Delete(c.Object.UID)
			p.forgetPodAndNotify(c.Object.UID)
		}
	}
	if p.changesSinceForget += len(changes); p.changesSinceForget >= len(p.known) { // Not after each change, because it reads all pods.
		p.forgetWritesOfGonePods()
	}
}

// getOrAddKnownPod returns the entry for a pod in the map of known pods, and adds an empty one for a new pod.
func (p *Pods) getOrAddKnownPod(pod *v1.Pod) *knownPod {
	k := p.known[pod.UID]
	if k == nil {
		k = &knownPod{}
		p.known[pod.UID] = k
	}
	return k
}

// forgetPodAndNotify removes a pod that is gone from the map of known pods, and calls Observer.Gone.
func (p *Pods) forgetPodAndNotify(uid types.UID) {
	delete(p.known, uid)
	if p.cfg.Observer != nil {
		p.cfg.Observer.Gone(uid)
	}
}

// isOnOtherNode reports whether a pod is not bound to this node. It returns false if the configuration has no
// node name.
func (p *Pods) isOnOtherNode(pod *v1.Pod) bool {
	return p.cfg.NodeName != "" && pod.Spec.NodeName != p.cfg.NodeName
}

// nextSnapshot returns the pods of this node as they are to be published, and whether the snapshot differs from
// the last one. A pod keeps its last published version if only fields that this node writes have changed. It
// overwrites pods, and forgets the pods that are gone.
func (p *Pods) nextSnapshot(pods []*v1.Pod) (snapshot []*v1.Pod, changed bool) {
	changed = !p.published
	p.published = true
	p.round++
	pods = slices.DeleteFunc(pods, p.isOnOtherNode)
	there := 0 // number of UIDs
	for i, pod := range pods {
		k := p.getOrAddKnownPod(pod)
		if p.storeAndObserveKnownPod(k, pod) {
			changed = true
		}
		if k.round != p.round {
			there++
		}
		k.round, pods[i] = p.round, k.published
	}
	if there < len(p.known) { // Only then, because it reads all pods.
		changed = true
		p.forgetMissingPods()
	}
	p.forgetWritesOfGonePods()
	return pods, changed
}

// storeAndObserveKnownPod stores a new state of a pod and shows it to the Observer. It returns false if the state is
// unchanged, or if it differs from the published one only by what this node has written.
func (p *Pods) storeAndObserveKnownPod(k *knownPod, pod *v1.Pod) (mustPublish bool) {
	if k.server == pod {
		return false
	}
	if p.cfg.Observer != nil {
		p.cfg.Observer.Observe(pod)
	}
	k.server = pod
	if k.published != nil && p.isNotNewerThanOwnWrite(pod) && patch.OnlyNodeFieldsDiffer(k.published, pod) {
		return false
	}
	k.published = pod
	return true
}

// forgetMissingPods forgets each pod that is missing in the last snapshot, and calls Observer.Gone for it, in
// the order of the UIDs.
func (p *Pods) forgetMissingPods() {
	for _, uid := range slices.Sorted(maps.Keys(p.known)) {
		if p.known[uid].round != p.round {
			p.forgetPodAndNotify(uid)
		}
	}
}

// forgetWritesOfGonePods forgets this node's recorded writes of pods that are gone. A response can record such a write
// after the pod is gone.
func (p *Pods) forgetWritesOfGonePods() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changesSinceForget = 0
	maps.DeleteFunc(p.mu.wrote, func(uid types.UID, _ string) bool {
		_, stays := p.known[uid]
		return !stays
	})
}

// isNotNewerThanOwnWrite reports whether the resource version of a pod is at most the version that this node's
// last write of the pod has returned.
func (p *Pods) isNotNewerThanOwnWrite(pod *v1.Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, p.mu.wrote[pod.UID])
	return err == nil && order <= 0
}

// RecordWrite records the pod that the server returned for a status write of this node. Call it after each write, at
// any time. It does not keep the pod.
func (p *Pods) RecordWrite(pod *v1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.wrote[pod.UID] = pod.ResourceVersion
}

// Health returns how well the pods are followed.
func (p *Pods) Health() Health { return p.follower.Health() }
