package nodeagent

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// renewing renews the lease from the registration on.
func (a *Agent) renewing(ctx context.Context) {
	if a.seen.Wait(ctx) != nil {
		return
	}
	wait := firstPause
	for ctx.Err() == nil {
		pause := nodestatus.LeasePeriod
		if err := a.renewOnce(ctx); err != nil {
			what := "a renewal of the node's lease"
			if apierrors.IsConflict(err) { // Or the answer to an earlier renewal was lost.
				what = "another agent may run under the name of this node: a renewal of its lease"
			}
			a.failed(ctx, &a.renew, what, err)
			pause, wait = wait, min(2*wait, lastPause)
		} else {
			wait = firstPause
		}
		if a.pause(ctx, &a.renew, pause) != nil {
			return
		}
	}
}

// renewOnce makes the lease, or renews the one that is known.
func (a *Agent) renewOnce(ctx context.Context) error {
	a.mu.Lock()
	node, known := a.mu.node, a.mu.lease
	a.mu.Unlock()
	if node == nil {
		return nil // Its registration wakes this loop.
	}
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(timeout))
	defer cancel()
	leases, name := a.cfg.Server.Leases(), a.cfg.Spec.Name
	if known == nil {
		found, err := leases.Get(ctx, name)
		if a.asked(err) != nil && !notFound(err) {
			return err
		}
		if err == nil {
			known = found
			a.watchHolder(found)
		}
	}
	var renewed *coordinationv1.Lease
	var err error
	if next := nodestatus.Lease(known, node, a.executor.Now()); known == nil {
		renewed, err = leases.Create(ctx, next)
	} else {
		renewed, err = leases.Update(ctx, next)
	}
	a.mu.Lock()
	a.mu.lease = renewed
	if err != nil {
		a.mu.lease = nil // It is read before the next attempt.
		if reason := apierrors.ReasonForError(err); reason == "" {
			a.mu.lease = known // No answer came: most likely it is as it was.
		}
	}
	a.mu.Unlock()
	return a.asked(err)
}

// watchHolder tells if another node renews the lease.
func (a *Agent) watchHolder(found *coordinationv1.Lease) {
	if h := found.Spec.HolderIdentity; h != nil && *h != a.cfg.Spec.Name {
		a.cfg.Log.Error("another holder renews the lease of this node", "node", a.cfg.Spec.Name, "holder", *h)
		a.cfg.Hooks.OtherHolder(*h)
	}
}
