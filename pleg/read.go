package pleg

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// Get implements runtime.StatusCache. The status is never nil; that of an unknown pod has its
// UID and nothing else. An error means that the newest inspection failed: the status is
// then the last one that could be read. Or it is ErrUnobserved: that
// nothing is cached then does not mean that nothing runs.
func (p *PLEG) Get(uid types.UID) (*runtime.PodStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status, err, observed := p.mu.table.look(uid, 0)
	if err == nil && !observed {
		err = ErrUnobserved
	}
	return status, err
}

// Mark implements runtime.StatusCache.
func (p *PLEG) Mark() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.number
}

// RequestRelist implements runtime.RelistRequester. From then on a reader of this pod is
// answered only by an inspection begun later, not by a listing: a caller that has just changed
// a pod calls RequestRelist before Mark.
func (p *PLEG) RequestRelist(uid types.UID) {
	if uid == "" {
		return
	}
	p.mu.Lock()
	t := &p.mu.table
	t.ask(t.record(uid), t.number)
	p.mu.Unlock()
	p.wake.Signal()
}

// NewerThan implements runtime.StatusCache. It waits for an observation if there is none above
// mark, and its waiting is the request for it. A pod that does not exist has an empty
// status. An error is that of the observation, of ctx, or ErrStopped; the
// status is nil then. A mark from the future counts as Mark().
func (p *PLEG) NewerThan(ctx context.Context, uid types.UID, mark uint64) (*runtime.PodStatus, error) {
	w, status, err := p.lookOrAsk(uid, mark)
	if w == nil {
		if err != nil {
			return nil, err
		}
		return status, nil
	}
	p.wake.Signal()
	if err := w.latch.Wait(ctx); err != nil {
		p.leave(uid, w)
		return nil, err
	}
	return w.status, w.err
}

// lookOrAsk answers at once, or registers a waiter and what it waits for.
func (p *PLEG) lookOrAsk(uid types.UID, mark uint64) (*waiter, *runtime.PodStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.mu.table
	mark = min(mark, t.number)
	status, err, ok := t.look(uid, mark)
	if ok {
		return nil, status, err
	}
	if p.mu.state == stopped {
		return nil, nil, ErrStopped
	}
	r := t.record(uid)
	t.readers++
	w := &waiter{seq: t.readers, mark: mark, latch: p.executor.NewLatch()}
	r.waiters = append(r.waiters, w)
	t.ask(r, mark)
	return w, nil, nil
}

// leave takes a reader away who does not wait any longer.
func (p *PLEG) leave(uid types.UID, w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.mu.table.records[uid]
	if r == nil {
		return
	}
	for i := range r.waiters {
		if r.waiters[i] == w {
			r.waiters = append(r.waiters[:i], r.waiters[i+1:]...)
			break
		}
	}
	p.mu.table.drop(r)
}

// Pods implements Snapshot.
func (p *PLEG) Pods() []runtime.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.pods()
}

// pods is the newest listing, with each pod that was inspected since as that
// inspection has shown it. With a healthy stream of events listings are half a
// minute apart; who compares all pods with what is desired must not go by what
// was true then. The answer is kept until an inspection or a listing completes.
func (t *table) pods() []runtime.Pod {
	if t.newest <= t.listed {
		return t.list
	}
	if t.merged == nil {
		t.merged = t.merge()
	}
	return t.merged
}

func (t *table) merge() []runtime.Pod {
	merged := make([]runtime.Pod, 0, len(t.list)+1)
	for i := range t.list {
		r := t.records[t.list[i].UID]
		switch {
		case r == nil || !t.supersedes(r):
			merged = append(merged, t.list[i])
		case r.index == i && !diff.Empty(r.status): // Once, if it is listed twice.
			merged = append(merged, r.status.Pod())
		}
	}
	listed := len(merged)
	for _, r := range t.records {
		if r.index < 0 && t.supersedes(r) && !diff.Empty(r.status) {
			merged = append(merged, r.status.Pod())
		}
	}
	slices.SortFunc(merged[listed:], func(a, b runtime.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return merged
}

// supersedes: the pod's status was read after the listing had begun. That a
// later inspection has failed takes nothing away from it.
func (t *table) supersedes(r *record) bool { return r.read > t.listed }
