package nodeagent

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/internal/patch"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// The pauses between attempts at a registration, and the time that a request may take.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 7 * time.Second
	timeout    = 10 * time.Second
)

// reporting registers the node and sends its status. It measures a node that is not ready
// sooner, so that the server hears at once when it is.
func (a *Agent) reporting(ctx context.Context) {
	a.start.Begun = a.executor.Now()
	wait := firstPause
	for ctx.Err() == nil {
		pause := nodestatus.Period
		ready, err := a.reportOnce(ctx)
		if err != nil {
			a.failed(ctx, &a.report, "a report of the node", err)
		}
		if err == nil && ready {
			wait = firstPause
		} else {
			pause, wait = wait, min(2*wait, lastPause)
		}
		if a.pause(ctx, &a.report, pause) != nil {
			return
		}
	}
}

// reportOnce measures the node, and registers it or sends its status if that is due. It
// reports whether the node is ready.
func (a *Agent) reportOnce(ctx context.Context) (ready bool, err error) {
	facts, ready := a.measure(ctx)
	a.mu.Lock()
	node, sent, sentAt, ours := a.mu.node, a.mu.sent, a.mu.sentAt.Add(a.mu.later), a.mu.ours
	a.mu.Unlock()
	if node == nil || node.UID != ours {
		return ready, a.register(ctx, facts)
	}
	previous := node.Status
	status := nodestatus.Status(&previous, facts)
	if !nodestatus.ShouldSendStatus(sent, &previous, status, facts.Now.Sub(sentAt)) {
		return ready, nil
	}
	server := &node.Status
	if sent == nil {
		server = nil
	}
	return ready, a.send(ctx, server, status)
}

// measure returns the facts, and whether the node is ready by them.
func (a *Agent) measure(ctx context.Context) (facts nodestatus.Facts, ready bool) {
	facts = a.cfg.Facts(ctx)
	facts.Now = a.executor.Now()
	a.start = a.start.Update(facts)
	facts.Starting = !a.start.Ended
	return facts, nodestatus.ReadyCondition(facts).Status == v1.ConditionTrue
}

// send patches the status. What the server is known to have is not sent again.
func (a *Agent) send(ctx context.Context, server *v1.NodeStatus, status v1.NodeStatus) error {
	bytes, err := patch.NodeStatus(server, &status)
	if err != nil || bytes == nil {
		return err
	}
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(timeout))
	defer cancel()
	node, err := a.cfg.Server.Nodes().PatchStatus(ctx, a.cfg.Spec.Name, bytes)
	if a.asked(err) != nil {
		if notFound(err) {
			a.unknown() // The next attempt registers it, after a pause.
		}
		return err
	}
	a.sent(node, status)
	return nil
}

// sent notes what the server has acknowledged.
func (a *Agent) sent(node *v1.Node, status v1.NodeStatus) {
	a.take(node, time.Time{}, true)
	random := a.cfg.Jitter()
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := nodestatus.ShouldSendStatus(a.mu.sent, &status, status, 0)
	a.mu.sent, a.mu.sentAt, a.mu.later = &status, a.executor.Now(), 0
	if changed {
		a.mu.later = later(random)
	}
}

// later is by how much the report is put off that follows one of a change, up to half a period
// in either direction: nodes that started together do not report together.
func later(random float64) time.Duration {
	if random >= 0.5 {
		random--
	}
	return time.Duration(random * float64(nodestatus.ReportPeriod))
}

// register creates the node, or takes over the one that exists.
func (a *Agent) register(ctx context.Context, facts nodestatus.Facts) error {
	want := nodestatus.Node(a.cfg.Spec, nodestatus.Status(&v1.NodeStatus{}, facts))
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(timeout))
	defer cancel()
	begun, again := a.executor.Now(), a.seen.Opened()
	node, err := a.cfg.Server.Nodes().Create(ctx, want)
	switch {
	case a.asked(err) == nil:
		a.own(node, begun)
		a.record(nodestatus.Events(&v1.Node{}, node), node)
		a.sent(node, want.Status)
	case exists(err):
		if adopting := a.adopt(ctx, want, facts); notFound(adopting) {
			return err // It was refused for another reason, such as a label that a node may not set.
		} else if adopting != nil {
			return adopting
		}
	default:
		return err
	}
	if again { // Or these loops begin now by themselves.
		a.renew.Signal()
		a.read.Signal()
	}
	return nil
}

// adopt gives a node that exists the labels and the status of the one that registers.
// What the server has of its conditions goes on: the times of their transitions, and Ready
// while the agent starts.
func (a *Agent) adopt(ctx context.Context, want *v1.Node, facts nodestatus.Facts) error {
	begun := a.executor.Now()
	node, err := a.cfg.Server.Nodes().Get(ctx, want.Name)
	if a.asked(err) != nil {
		return err
	}
	labels, err := nodestatus.Reconcile(node, want)
	if err != nil {
		return err
	}
	if labels != nil {
		if node, err = a.cfg.Server.Nodes().Patch(ctx, want.Name, labels); a.asked(err) != nil {
			return err
		}
	}
	a.replaced(node)
	a.own(node, begun)
	return a.send(ctx, nil, nodestatus.Status(&node.Status, facts))
}

// own notes the object that is registered.
func (a *Agent) own(node *v1.Node, readAt time.Time) {
	a.mu.Lock()
	first := a.mu.ours == ""
	a.mu.ours, a.mu.since = node.UID, a.executor.Now()
	a.mu.Unlock()
	if first {
		a.record([]nodestatus.Event{{Type: v1.EventTypeNormal, Reason: "Starting", Message: "Starting node agent."}}, node)
	}
	a.is(node, readAt)
}
