package node

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/status"
)

// send brings statuses to the sink, if there is one, until sent is called and
// has returned: what the other parts say at their end is sent too.
func (n *Node) send(ctx context.Context) (sent func()) {
	if n.sender == nil {
		return func() {}
	}
	ctx, end := executor.WithCancel(executor.Detach(ctx))
	group := executor.NewGroup(n.executor)
	group.Go(func() {
		if err := n.sender.Run(ctx); err != nil {
			n.fail(err)
		}
	})
	return func() {
		end()
		group.Wait()
	}
}

// buildSender: who is told, if anybody.
func (n *Node) buildSender() (err error) {
	if n.config.Sink == nil {
		return nil
	}
	n.sender, err = status.NewSender(status.SenderConfig{
		Store:    n.status,
		Sink:     n.config.Sink,
		CouldRun: n.couldRun,
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Hooks:    status.SenderHooks{Panicked: n.guard.Note},
	})
	return err
}

// couldRun: the end of the pod is not to be told yet (ST-17).
func (n *Node) couldRun(uid types.UID) bool {
	view := n.workers.View(uid)
	return view.Known() && view.CouldHaveRunningContainers()
}
