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

// reading follows the node's object from the registration on: other programs change its
// labels and taints, or delete it.
func (a *Agent) reading(ctx context.Context) {
	if a.seen.Wait(ctx) != nil {
		return
	}
	wait, stale, from := firstPause, false, ""
	for ctx.Err() == nil {
		var err error
		if stale {
			from, err = a.readOnce(ctx)
		}
		if err == nil {
			stale = false
			begun := a.executor.Now()
			err = a.follow(ctx, from)
			from = ""
			if lived := a.executor.Now().Sub(begun) >= shortWatch; lived && errors.Is(err, io.EOF) {
				wait = firstPause
				continue
			}
		}
		if stale = true; errors.Is(err, errRefresh) {
			continue
		}
		a.failed(ctx, &a.read, "a watch of the node", err)
		if a.pause(ctx, &a.read, wait) != nil {
			return
		}
		wait = min(2*wait, lastPause)
	}
}

const (
	// shortWatch is how long a watch lives at least that ends in order.
	shortWatch = time.Second
	// silentWatch is how long one lives at least that should have shown something: a server
	// sends a bookmark each minute.
	silentWatch = 2 * time.Minute
)

// errGone is what a list without the node means.
var errGone = errors.New("nodeagent: the node is not at the server")

// errRefresh ends a watch because the node is to be read again.
var errRefresh = errors.New("nodeagent: the node is read again")

// readOnce reads the node. It returns the version to watch from, which is the server's: the
// node's own may be older than all that a restarted server can tell.
func (a *Agent) readOnce(ctx context.Context) (from string, err error) {
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(timeout))
	defer cancel()
	begun := a.executor.Now()
	list, err := a.cfg.Server.NodeFeed().List(ctx, "")
	if a.asked(err) != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		a.gone()
		return "", errGone
	}
	a.is(list.Items[0], begun)
	return list.ResourceVersion, nil
}

// follow watches the node, from its own version if from is empty, until the watch ends or
// Refresh is called. It looks for the latter beside the watch, which blocks.
func (a *Agent) follow(ctx context.Context, from string) error {
	node, _ := a.Node()
	if node == nil {
		return errRefresh
	}
	from = cmp.Or(from, node.ResourceVersion)
	ctx, cancel := executor.WithCancel(ctx)
	group := executor.NewGroup(a.executor)
	var refresh bool
	group.Go(func() {
		if a.read.Wait(ctx) == nil {
			refresh = true
			cancel()
		}
	})
	err := a.events(ctx, from)
	cancel()
	group.Wait()
	if refresh {
		return errRefresh
	}
	return err
}

// events takes what a watch shows. Where it shows nothing for minutes the node is read again:
// the version from which it began may be one that the data of the server, restored from a
// backup, have not reached.
func (a *Agent) events(ctx context.Context, from string) error {
	const life = 5 * time.Minute
	stream, err := a.cfg.Server.NodeFeed().Watch(ctx, apiserver.WatchOptions{ResourceVersion: from, Timeout: life})
	if err != nil && ctx.Err() != nil {
		return err // Refresh has ended it, which says nothing of the server.
	}
	if a.asked(err) != nil {
		return err
	}
	defer stream.Close()
	begun := a.executor.Now()
	for silent := true; ; silent = false {
		event, err := stream.Next(ctx)
		if silent && errors.Is(err, io.EOF) && a.executor.Now().Sub(begun) >= silentWatch {
			return errRefresh
		}
		if err != nil {
			return err
		}
		switch event.Type {
		case apiserver.Added, apiserver.Modified:
			a.is(event.Object, time.Time{})
		case apiserver.Deleted:
			a.deleted(event.Object)
		}
	}
}

// deleted notes that an object is gone, if it is the one that is known.
func (a *Agent) deleted(node *v1.Node) {
	if known, _ := a.Node(); known != nil && known.UID == node.UID {
		a.gone()
	}
}
