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
	// refreshPeriod is how often the Node object is updated and old events are removed.
	refreshPeriod = 10 * time.Second
	// startupCheckPeriod is how often the API checks whether the node has reported all pods.
	startupCheckPeriod = 50 * time.Millisecond
	// deletionCheckPeriod is how often the API inspects deleted pods that have not terminated.
	deletionCheckPeriod = time.Second
)

// Run follows the node until ctx is done, and then returns nil. Before the node has reported all pods, and after Run
// has returned, requests for objects are answered with 503. All watches stop with Run. A second call returns
// runtime.ErrSecondRun.
func (a *API) Run(ctx context.Context) error {
	if a.ran.Swap(true) {
		return fmt.Errorf("localapi: %w", runtime.ErrSecondRun)
	}
	defer close(a.ended)
	var goroutines sync.WaitGroup
	defer goroutines.Wait()
	if e := a.config.Events; e != nil {
		goroutines.Go(func() { _ = e.Recorder.Run(ctx) }) // Only a second call fails.
	}
	goroutines.Go(func() { a.becomeReadyThenRefreshUntilDone(ctx) })
	for state := range a.config.Node.Watch(ctx) {
		a.pods.showOrHideReportedPodAndFinishDeletion(state)
	}
	return nil
}

// becomeReadyThenRefreshUntilDone adds the Node object and the namespaces default and kube-node-lease, and
// closes ready when the node has reported all pods. From then on, until ctx is done, it updates the Node object
// and its lease, removes deleted pods that have terminated, and removes old records and events.
func (a *API) becomeReadyThenRefreshUntilDone(ctx context.Context) {
	period := time.NewTicker(startupCheckPeriod)
	defer period.Stop()
	a.node.updateNodeObjectIfDue(ctx)
	a.pods.addNamespace(metav1.NamespaceDefault)
	a.pods.addNamespace(v1.NamespaceNodeLease)
	for {
		if !a.isReady() && a.pods.hasNodeReportedAllPods() {
			a.node.updateNodeObjectIfDue(ctx)
			a.node.renewLeaseIfDue()
			if period.Reset(refreshPeriod); a.pods.removeTerminatedDeletedPods() {
				period.Reset(deletionCheckPeriod)
			}
			close(a.ready)
		}
		select {
		case <-period.C:
		case <-a.pods.inspectRequested:
			period.Reset(deletionCheckPeriod)
		case <-ctx.Done():
			return
		}
		if a.isReady() {
			a.node.updateNodeObjectIfDue(ctx)
			a.node.renewLeaseIfDue()
			a.pods.expireOldRemovedRecords()
			a.config.Events.removeOldEvents()
			if !a.pods.removeTerminatedDeletedPods() {
				period.Reset(refreshPeriod)
			}
		}
	}
}

// newUID returns a random UUID of version 4.
func newUID() types.UID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails.
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
