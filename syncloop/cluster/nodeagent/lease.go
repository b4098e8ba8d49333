package nodeagent

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// runLeaseLoop waits for the registration and then renews the lease periodically until ctx is done. After a
// failure it logs the error and retries with a backoff.
func (a *Agent) runLeaseLoop(ctx context.Context) {
	if a.registered.Wait(ctx) != nil {
		return
	}
	wait := minBackoff
	for ctx.Err() == nil {
		pause := nodestatus.LeasePeriod
		if err := a.renewLease(ctx); err != nil {
			what := "a renewal of the node's lease"
			if apierrors.IsConflict(err) { // Or the response to an earlier renewal was lost.
				what = "another agent may run under the name of this node: a renewal of its lease"
			}
			a.logFailureAndRetryIfAsked(ctx, &a.wakeLeaseLoop, what, err)
			pause, wait = wait, min(2*wait, maxBackoff)
		} else {
			wait = minBackoff
		}
		if a.waitForSignal(ctx, &a.wakeLeaseLoop, pause) != nil {
			return
		}
	}
}

// renewLease renews the Lease of the node. If the agent has no Lease object, it first reads the Lease from the
// server, and creates it if the server has none. If the Lease that it has read names another holder, it logs an
// error, calls Hooks.OtherHolder, and takes the Lease over. Without a Node object it does nothing and returns
// nil.
func (a *Agent) renewLease(ctx context.Context) error {
	a.mu.Lock()
	node, known := a.mu.node, a.mu.lease
	a.mu.Unlock()
	if node == nil {
		return nil // The registration wakes this loop.
	}
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(requestTimeout))
	defer cancel()
	leases, name := a.cfg.Server.Leases(), a.cfg.Spec.Name
	if known == nil {
		found, err := leases.Get(ctx, name)
		if a.reportRequestDoneAndReturnError(err) != nil && !isNotFound(err) {
			return err
		}
		if err == nil {
			known = found
			a.reportIfOtherHolder(found)
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
		a.mu.lease = nil // The next attempt reads the lease first.
		if reason := apierrors.ReasonForError(err); reason == "" {
			a.mu.lease = known // Without a response the lease is probably unchanged.
		}
	}
	a.mu.Unlock()
	return a.reportRequestDoneAndReturnError(err)
}

// reportIfOtherHolder logs an error and calls Hooks.OtherHolder if the holder of the lease is not this node.
func (a *Agent) reportIfOtherHolder(found *coordinationv1.Lease) {
	if h := found.Spec.HolderIdentity; h != nil && *h != a.cfg.Spec.Name {
		a.cfg.Log.Error("another holder renews the lease of this node", "node", a.cfg.Spec.Name, "holder", *h)
		a.cfg.Hooks.OtherHolder(*h)
	}
}
