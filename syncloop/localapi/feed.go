package localapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

const (
	// tick is how often the object of the node is updated, and old events are dropped.
	tick = 10 * time.Second
	// startPeriod is how often describe checks whether the node has reported all pods.
	startPeriod = 50 * time.Millisecond
	// endPeriod is how often deleted pods are inspected that have not ended.
	endPeriod = time.Second
)

// Run follows the node until ctx ends, and returns nil then. Before the node has reported all pods, and
// after Run has ended, requests are answered with 503. Watches end with Run. A second call returns
// runtime.ErrSecondRun.
func (a *API) Run(ctx context.Context) error {
	if a.ran.Swap(true) {
		return fmt.Errorf("localapi: %w", runtime.ErrSecondRun)
	}
	defer close(a.ended)
	var under sync.WaitGroup
	defer under.Wait()
	if e := a.config.Events; e != nil {
		under.Go(func() { _ = e.Recorder.Run(ctx) }) // It fails at a second call only.
	}
	under.Go(func() { a.describe(ctx) })
	for state := range a.config.Node.Watch(ctx) {
		a.pods.report(state)
	}
	return nil
}

// describe updates the node's object, inspects deleted pods, and closes complete when the list of pods is
// complete.
func (a *API) describe(ctx context.Context) {
	period := time.NewTicker(startPeriod)
	defer period.Stop()
	a.node.describeNode(ctx)
	a.pods.putNamespace(metav1.NamespaceDefault)
	a.pods.putNamespace(v1.NamespaceNodeLease)
	for {
		if !a.isComplete() && a.pods.hasReported() {
			a.node.describeNode(ctx)
			a.node.renewLease()
			if period.Reset(tick); a.pods.inspect() {
				period.Reset(endPeriod)
			}
			close(a.complete)
		}
		select {
		case <-period.C:
		case <-a.pods.look:
			period.Reset(endPeriod)
		case <-ctx.Done():
			return
		}
		if a.isComplete() {
			a.node.describeNode(ctx)
			a.node.renewLease()
			a.pods.expire()
			a.config.Events.tidy()
			if !a.pods.inspect() {
				period.Reset(tick)
			}
		}
	}
}

// newUID makes a random UUID of version 4.
func newUID() types.UID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // It never fails.
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
