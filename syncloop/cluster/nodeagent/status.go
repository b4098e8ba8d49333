package nodeagent

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/internal/patch"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// Backoff and timeout of requests.
const (
	minBackoff     = 100 * time.Millisecond
	maxBackoff     = 7 * time.Second
	requestTimeout = 10 * time.Second
)

// runStatusLoop registers the node and sends its status periodically until ctx is done. It collects the facts
// more often while the node is not ready or after an error, so that the server soon learns when the node
// becomes ready.
func (a *Agent) runStatusLoop(ctx context.Context) {
	a.start.Begun = a.executor.Now()
	wait := minBackoff
	for ctx.Err() == nil {
		pause := nodestatus.Period
		ready, err := a.registerOrReportStatus(ctx)
		if err != nil {
			a.logFailureAndRetryIfAsked(ctx, &a.wakeStatusLoop, "a report of the node", err)
		}
		if err == nil && ready {
			wait = minBackoff
		} else {
			pause, wait = wait, min(2*wait, maxBackoff)
		}
		if a.waitForSignal(ctx, &a.wakeStatusLoop, pause) != nil {
			return
		}
	}
}

// registerOrReportStatus collects the facts of the node. It registers the node if its Node object is missing or
// was replaced, and otherwise sends the status if that is due. It returns whether the node is ready.
func (a *Agent) registerOrReportStatus(ctx context.Context) (ready bool, err error) {
	facts, ready := a.collectFacts(ctx)
	a.mu.Lock()
	node, sent, sentAt, ours := a.mu.node, a.mu.sent, a.mu.sentAt.Add(a.mu.reportDelay), a.mu.ours
	a.mu.Unlock()
	if node == nil || node.UID != ours {
		return ready, a.registerNode(ctx, facts)
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
	return ready, a.patchStatus(ctx, server, status)
}

// collectFacts returns the facts of the node with the current time, and whether they make the node ready. It
// also updates whether the agent is still starting.
func (a *Agent) collectFacts(ctx context.Context) (facts nodestatus.Facts, ready bool) {
	facts = a.cfg.Facts(ctx)
	facts.Now = a.executor.Now()
	a.start = a.start.Update(facts)
	facts.Starting = !a.start.Ended
	return facts, nodestatus.ReadyCondition(facts).Status == v1.ConditionTrue
}

// patchStatus sends the difference between the server's status and the new status, and stores the response. A
// nil server status means unknown. It sends nothing if nothing differs, and forgets the Node object if the
// server does not have it.
func (a *Agent) patchStatus(ctx context.Context, server *v1.NodeStatus, status v1.NodeStatus) error {
	bytes, err := patch.NodeStatus(server, &status)
	if err != nil || bytes == nil {
		return err
	}
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(requestTimeout))
	defer cancel()
	node, err := a.cfg.Server.Nodes().PatchStatus(ctx, a.cfg.Spec.Name, bytes)
	if a.reportRequestDoneAndReturnError(err) != nil {
		if isNotFound(err) {
			a.forgetNode() // The next attempt registers the node, after a pause.
		}
		return err
	}
	a.storeSentStatus(node, status)
	return nil
}

// storeSentStatus stores the response to a status write and the sent status. If the status has changed, it
// chooses a random delay for the next report.
func (a *Agent) storeSentStatus(node *v1.Node, status v1.NodeStatus) {
	a.storeNodeAndNotify(node, time.Time{}, true)
	random := a.cfg.Jitter()
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := nodestatus.ShouldSendStatus(a.mu.sent, &status, status, 0)
	a.mu.sent, a.mu.sentAt, a.mu.reportDelay = &status, a.executor.Now(), 0
	if changed {
		a.mu.reportDelay = randomReportDelay(random)
	}
}

// randomReportDelay returns a delay for the report after a changed status, between minus half and plus half a
// ReportPeriod. It prevents nodes that started together from reporting together. random is in [0, 1).
func randomReportDelay(random float64) time.Duration {
	if random >= 0.5 {
		random--
	}
	return time.Duration(random * float64(nodestatus.ReportPeriod))
}

// registerNode creates the Node object, or adopts an existing one, and stores it and its status. It wakes the
// lease and watch loops unless this is the first registration.
func (a *Agent) registerNode(ctx context.Context, facts nodestatus.Facts) error {
	want := nodestatus.Node(a.cfg.Spec, nodestatus.Status(&v1.NodeStatus{}, facts))
	ctx, cancel := a.executor.WithDeadline(ctx, a.executor.Now().Add(requestTimeout))
	defer cancel()
	begun, again := a.executor.Now(), a.registered.Opened()
	node, err := a.cfg.Server.Nodes().Create(ctx, want)
	switch {
	case a.reportRequestDoneAndReturnError(err) == nil:
		a.storeNodeAndRecordFirstRegistration(node, begun)
		a.recordEvents(nodestatus.Events(&v1.Node{}, node), node)
		a.storeSentStatus(node, want.Status)
	case isExistingOrForbidden(err):
		if adopting := a.adoptExistingNode(ctx, want, facts); isNotFound(adopting) {
			return err // The create was refused for another reason, such as a forbidden label.
		} else if adopting != nil {
			return adopting
		}
	default:
		return err
	}
	if again { // After the first registration these loops start by themselves.
		a.wakeLeaseLoop.Signal()
		a.wakeWatchLoop.Signal()
	}
	return nil
}

// adoptExistingNode reads the existing Node object, patches the agent's labels and status into it, and stores
// it. It reports an object with a new UID. The conditions keep their transition times, and the Ready condition
// stays while the agent starts.
func (a *Agent) adoptExistingNode(ctx context.Context, want *v1.Node, facts nodestatus.Facts) error {
	begun := a.executor.Now()
	node, err := a.cfg.Server.Nodes().Get(ctx, want.Name)
	if a.reportRequestDoneAndReturnError(err) != nil {
		return err
	}
	labels, err := nodestatus.Reconcile(node, want)
	if err != nil {
		return err
	}
	if labels != nil {
		if node, err = a.cfg.Server.Nodes().Patch(ctx, want.Name, labels); a.reportRequestDoneAndReturnError(err) != nil {
			return err
		}
	}
	a.forgetSentAndReportReplacement(node)
	a.storeNodeAndRecordFirstRegistration(node, begun)
	return a.patchStatus(ctx, nil, nodestatus.Status(&node.Status, facts))
}

// storeNodeAndRecordFirstRegistration stores the Node object that the agent has created or adopted, its UID,
// and the current time as the time of registration. At the first registration it also records the event
// Starting.
func (a *Agent) storeNodeAndRecordFirstRegistration(node *v1.Node, readAt time.Time) {
	a.mu.Lock()
	first := a.mu.ours == ""
	a.mu.ours, a.mu.since = node.UID, a.executor.Now()
	a.mu.Unlock()
	if first {
		a.recordEvents([]nodestatus.Event{{Type: v1.EventTypeNormal, Reason: "Starting", Message: "Starting node agent."}}, node)
	}
	a.storeReadNodeAndNotify(node, readAt)
}
