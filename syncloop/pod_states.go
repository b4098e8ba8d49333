package syncloop

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// podStates holds what the handlers store about each pod: its record, its allocation, and the copy for
// other goroutines. Only sharedPods is safe for concurrent use.
type podStates struct {
	nodeView
	guard *contain.Guard
	chain *admitChain
	// table decides which pods are admitted, wait, or are rejected.
	table *allocation.Table
	records
	shared sharedPods
	// wake wakes the loop. requestHousekeeping makes it run housekeeping soon.
	wake, requestHousekeeping func()
}

// newPodStates returns podStates without pods. Its wake and requestHousekeeping do nothing until SetWake sets
// them.
func newPodStates(config *HandlersConfig, guard *contain.Guard, chain *admitChain) *podStates {
	return &podStates{
		nodeView: nodeView{config}, guard: guard, chain: chain, records: records{pods: make(map[types.UID]*record)},
		table: allocation.New(allocation.Config{Chain: chain.rules, WaitWhenFull: config.WhenFull == Wait}),
		wake:  func() {}, requestHousekeeping: func() {},
	}
}

// nodeView reads what the workers, the manager and the runtime show of pods at the time of the call.
type nodeView struct{ config *HandlersConfig }

// unstartedPods publishes the statuses of the pods without a worker: pods that wait for admission, and
// rejected pods.
type unstartedPods struct{ *podStates }
