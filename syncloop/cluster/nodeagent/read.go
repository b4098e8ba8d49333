package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// runWatchLoop waits for the registration and then watches the Node object until ctx is done, because other
// programs change its labels and taints or delete it. A failed watch is logged and retried with a backoff.
// After a failed or refreshed watch it reads the object before the next watch.
func (a *Agent) runWatchLoop(ctx context.Context) {
	if a.registered.Wait(ctx) != nil {
		return
	}
	wait, stale, from := minBackoff, false, ""
	for ctx.Err() == nil {
		var err error
		if stale {
			from, err = a.listNode(ctx)
		}
		if err == nil {
			stale = false
			begun := a.executor.Now()
			err = a.watchNode(ctx, from)
			from = ""
			if lived := a.executor.Now().Sub(begun) >= minWatchDuration; lived && errors.Is(err, io.EOF) {
				wait = minBackoff
				continue
			}
		}
		if stale = true; errors.Is(err, errRefresh) {
			continue
		}
		a.logFailureAndRetryIfAsked(ctx, &a.wakeWatchLoop, "a watch of the node", err)
		if a.waitForSignal(ctx, &a.wakeWatchLoop, wait) != nil {
			return
		}
		wait = min(2*wait, maxBackoff)
	}
}

const (
	// minWatchDuration is the minimum duration of a watch that counts as successful.
	minWatchDuration = time.Second
	// silentWatchDuration is the duration after which a watch without any event is suspicious: a server sends a
	// bookmark every minute.
	silentWatchDuration = 2 * time.Minute
)

// errNodeMissing is returned if a list does not contain the node.
var errNodeMissing = errors.New("nodeagent: the server has no Node object")

// errRefresh ends a watch so that the node is read again.
var errRefresh = errors.New("nodeagent: the node must be read again")

// listNode reads and stores the Node object, and returns the resource version of the list for the next watch.
// The object's own version may be older than the history of a restarted server. If the object does not exist,
// it requests a new registration and returns errNodeMissing.
func (a *Agent) listNode(ctx context.Context) (from string, err error) {
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(requestTimeout))
	defer cancel()
	begun := a.executor.Now()
	list, err := a.cfg.Server.NodeFeed().List(ctx, "")
	if a.reportRequestDoneAndReturnError(err) != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		a.forgetNodeAndReregister()
		return "", errNodeMissing
	}
	a.storeReadNodeAndNotify(list.Items[0], begun)
	return list.ResourceVersion, nil
}

// watchNode watches the Node object until the watch ends, or returns errRefresh when Refresh is called. An
// empty from means the version of the stored object. A second goroutine waits for Refresh, because the watch
// blocks.
func (a *Agent) watchNode(ctx context.Context, from string) error {
	node, _ := a.Node()
	if node == nil {
		return errRefresh
	}
	from = cmp.Or(from, node.ResourceVersion)
	ctx, cancel := executor.WithCancel(ctx)
	group := executor.NewGroup(a.executor)
	var refresh bool
	group.Go(func() {
		if a.wakeWatchLoop.Wait(ctx) == nil {
			refresh = true
			cancel()
		}
	})
	err := a.storeWatchEvents(ctx, from)
	cancel()
	group.Wait()
	if refresh {
		return errRefresh
	}
	return err
}

// storeWatchEvents watches the Node object and stores what the watch shows, until the watch ends. It returns
// errRefresh if the watch has shown nothing for minutes: after a restore from a backup, the server may never
// reach the version from which the watch started.
func (a *Agent) storeWatchEvents(ctx context.Context, from string) error {
	const life = 5 * time.Minute
	stream, err := a.cfg.Server.NodeFeed().Watch(ctx, apiserver.WatchOptions{ResourceVersion: from, Timeout: life})
	if err != nil && ctx.Err() != nil {
		return err // Refresh has canceled the request.
	}
	if a.reportRequestDoneAndReturnError(err) != nil {
		return err
	}
	defer stream.Close()
	begun := a.executor.Now()
	for silent := true; ; silent = false {
		event, err := stream.Next(ctx)
		if silent && errors.Is(err, io.EOF) && a.executor.Now().Sub(begun) >= silentWatchDuration {
			return errRefresh
		}
		if err != nil {
			return err
		}
		switch event.Type {
		case apiserver.Added, apiserver.Modified:
			a.storeReadNodeAndNotify(event.Object, time.Time{})
		case apiserver.Deleted:
			a.forgetDeletedNodeAndReregister(event.Object)
		}
	}
}

// forgetDeletedNodeAndReregister forgets the Node object and requests a new registration. It ignores the
// deletion of an object with another UID.
func (a *Agent) forgetDeletedNodeAndReregister(node *v1.Node) {
	if known, _ := a.Node(); known != nil && known.UID == node.UID {
		a.forgetNodeAndReregister()
	}
}
