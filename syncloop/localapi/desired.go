package localapi

import (
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// Writer runs the pods that were created by the API: a node.Node. Its methods are called
// concurrently and must not block.
type Writer interface {
	// Apply makes a pod desired, in place of an earlier one of its UID; a pod with a deletion
	// timestamp is ended within its deletionGracePeriodSeconds.
	Apply(pod *v1.Pod) error
	// Delete forgets a pod.
	Delete(uid types.UID)
}

// Saved keeps pods over restarts: a checkpoint.Pods. Its methods are called concurrently.
type Saved interface {
	// Consume returns the pods that an earlier process has saved. New calls it once.
	Consume() []*v1.Pod
	// Save keeps a pod in place of what was kept of its UID. After a nil error it outlives the
	// process.
	Save(pod *v1.Pod) error
	// Drop removes what is kept of a pod, if anything is.
	Drop(uid types.UID) error
}

// Completer is a Writer that must be told when all pods of an earlier process have been applied,
// and that ends no other pods before: a node.Node with Config.AwaitHost.
type Completer interface {
	Writer
	// SetComplete says that all of them have been applied. New calls it at most once.
	SetComplete()
}

// Unreader is a Saved that knows whether it has lost pods that an earlier process has saved: a
// checkpoint.Pods.
type Unreader interface {
	Saved
	// Unread returns nil if Consume returns all saved pods, and else why it cannot. New calls it
	// once.
	Unread() error
}

// mostPods is how many pods may have been created and not be gone.
const mostPods = 1000

// desired are the pods that were created by the API. Of their statuses they have nothing but the
// conditions that clients write. An object in it is never changed.
type desired struct {
	// writes are held while a pod of a name is being written.
	writes keylock.Locks[string]
	mu     struct {
		sync.Mutex
		pods map[types.UID]*v1.Pod
		// gone are those that were forgotten, since when: the node may still show their end.
		gone map[types.UID]time.Time
		// restored are those of an earlier process that the node has not shown yet.
		restored map[types.UID]bool
	}
}

// yielded reports whether a pod is there as the node has shown it.
func (d *desired) yielded(uid types.UID, pods *resource) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.mu.restored[uid] && pods.has(uid)
}

// remembered is how long a pod that is gone is known to be after the node has forgotten it.
const remembered = time.Minute

func (d *desired) get(uid types.UID) (pod *v1.Pod, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, gone = d.mu.gone[uid]
	return d.mu.pods[uid], gone
}

// reuse has the UID of a pod that is gone belong to a static pod: kubectl get -o yaml made its
// manifest.
func (d *desired) reuse(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.mu.gone, uid)
}

// tidy drops those that are gone from the node, too.
func (d *desired) tidy(now time.Time, known func(types.UID) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for uid, since := range d.mu.gone {
		if now.Sub(since) > remembered && !known(uid) {
			delete(d.mu.gone, uid)
		}
	}
}

// ending are those that are being deleted.
func (d *desired) ending() (pods []*v1.Pod) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, pod := range d.mu.pods {
		if pod.DeletionTimestamp != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// commit makes a pod the desired one of its UID, and shows it; nil is one that is gone.
func (a *API) commit(uid types.UID, pod *v1.Pod) *v1.Pod {
	d := &a.desired
	d.mu.Lock()
	defer d.mu.Unlock()
	if pod == nil {
		delete(d.mu.pods, uid)
		d.mu.gone[uid] = a.now()
		return nil
	}
	d.mu.pods[uid] = pod
	shown := asCreated(pod)
	if before := a.shownPod(pod); before != nil {
		shown.Status = *before.Status.DeepCopy()
		setOthers(&shown.Status, pod)
	}
	a.putNamespace(pod.Namespace)
	return a.served["pods"].put(shown).(*v1.Pod)
}

// shownPod is a pod as it is shown now; nil if it is not, as another pod has its name.
func (a *API) shownPod(pod *v1.Pod) *v1.Pod {
	if shown, ok := a.served["pods"].get(pod.Namespace, pod.Name).(*v1.Pod); ok && shown.UID == pod.UID {
		return shown
	}
	return nil
}

// asCreated is a pod as a server shows it before a node has taken it up.
func asCreated(pod *v1.Pod) *v1.Pod {
	shown := kinded(pod.DeepCopy(), "Pod")
	shown.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod), Conditions: shown.Status.Conditions}
	return shown
}

// put shows a pod with the status that the node has for it, and the rest as it is desired.
func (a *API) put(pod *v1.Pod) {
	d := &a.desired
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, gone := d.mu.gone[pod.UID]; gone {
		return
	}
	delete(d.mu.restored, pod.UID)
	if own := d.mu.pods[pod.UID]; own != nil {
		status := pod.Status
		pod = kinded(own.DeepCopy(), "Pod")
		pod.Status = status
		setOthers(&pod.Status, own)
	}
	a.putNamespace(pod.Namespace)
	a.served["pods"].put(pod)
}

// hide shows a pod no more, and its namespace neither if it was the last one in it. That is
// decided with the lock with which pods are shown: else a namespace without pods could stay, and
// one of a new pod could go.
func (a *API) hide(pod *v1.Pod) {
	a.desired.mu.Lock()
	defer a.desired.mu.Unlock()
	a.served["pods"].remove(pod.UID)
	a.dropNamespaceLocked(pod.Namespace)
}

// forgetEnded drops a pod that was deleted and has ended, after whoever is writing it: the node
// would be given a pod again that is gone, whose name nobody could use.
func (a *API) forgetEnded(pod *v1.Pod) {
	defer a.desired.writes.Lock(key(pod.Namespace, pod.Name))()
	if _, gone := a.desired.get(pod.UID); !gone {
		a.forget(pod)
	}
}

// forget drops a pod. The caller holds the name's lock.
func (a *API) forget(pod *v1.Pod) {
	if err := a.config.Saved.Drop(pod.UID); err != nil {
		a.log.Error("the file of a deleted pod is still there: the pod runs again after a restart", "pod", key(pod.Namespace, pod.Name), "err", err)
	}
	a.config.Writer.Delete(pod.UID)
	a.commit(pod.UID, nil)
	a.hide(pod)
}

// restore gives the node the pods that were created before this process. Each has its name from
// now on: a static pod of that name may be refused for it. Those that were being deleted go on
// ending. A pod that this node has saved belongs to this node under the name that it has now.
func (a *API) restore() error {
	a.desired.mu.pods, a.desired.mu.gone, a.desired.mu.restored = map[types.UID]*v1.Pod{}, map[types.UID]time.Time{}, map[types.UID]bool{}
	if (a.config.Writer == nil) != (a.config.Saved == nil) {
		return errors.New("localapi: Config.Writer and Saved go together")
	}
	if a.config.Writer == nil {
		return nil
	}
	var lost error
	if u, ok := a.config.Saved.(Unreader); ok {
		lost = u.Unread()
	}
	for _, pod := range a.config.Saved.Consume() {
		validation.Default(pod) // The file may be of another version, or changed by hand.
		pod.Status = v1.PodStatus{Conditions: ofOthers(pod.Status.Conditions)}
		pod.Spec.NodeName = a.config.NodeName // The host may have had another name; the pod is still this node's.
		if err := a.config.Writer.Apply(pod); err != nil {
			a.log.Error("a pod that was created before cannot run any more; its file stays", "pod", key(pod.Namespace, pod.Name), "uid", pod.UID, "err", err)
			lost = err
			continue
		}
		a.desired.mu.pods[pod.UID], a.desired.mu.restored[pod.UID] = pod, true
		a.served["pods"].put(asCreated(pod)) // Its status is not known before the API is ready.
		a.putNamespace(pod.Namespace)
	}
	a.settle(lost)
	return nil
}

// settle tells the Writer that it has all pods, unless some were lost: their containers and
// volumes stay until somebody has looked, as nobody has deleted them.
func (a *API) settle(lost error) {
	to, ok := a.config.Writer.(Completer)
	switch {
	case lost == nil && ok:
		to.SetComplete()
	case lost != nil:
		a.log.Error("not all pods that were created before are known: what is left of pods is not removed until their files are mended, or removed, and the program is started again", "err", lost)
	}
}

// Unsaved is a Saved that keeps nothing: created pods end with the process.
type Unsaved struct{}

// Consume implements Saved.
func (Unsaved) Consume() []*v1.Pod { return nil }

// Save implements Saved.
func (Unsaved) Save(*v1.Pod) error { return nil }

// Drop implements Saved.
func (Unsaved) Drop(types.UID) error { return nil }
