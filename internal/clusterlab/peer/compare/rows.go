//go:build peer

package main

// unit is the unit of a row.
type unit string

const (
	nanoseconds unit = "ns"
	bytes       unit = "bytes"
	count       unit = "count"
)

// figure is one measurement.
type figure struct {
	// value is the time, the memory or the number of one operation.
	value float64
	// allocs is the number of allocations of one operation. Negative: it was not measured.
	allocs float64
}

// row is a quantity that is measured with both drivers.
type row struct {
	name string
	unit unit
	// prepare makes the parts of one driver. The caller calls measure in each round, and cleanup after the last round.
	prepare func(d driver) (measure func() figure, cleanup func())
}

// allRows returns the rows in the order of the table. The last rows leave goroutines of the kubelet behind, because the
// kubelet cannot stop them.
func allRows() []row {
	return []row{
		{"UpdatePod of a pod that is being synced, 1,000 pods", nanoseconds, prepareBusy},
		{"UpdatePod of an idle pod until SyncPod is called, 1,000 pods", nanoseconds, prepareDispatch},
		{"life of a pod: create, SyncPod, kill, SyncTerminatingPod, SyncTerminatedPod, forget", nanoseconds, prepareLife},
		{"memory of an idle pod in the workers, 10,000 pods: heap and stacks", bytes, prepareMemory},
		{"goroutines of 1,000 idle pods", count, prepareGoroutines},
		{"work queue of 10,000 pods, nothing due", nanoseconds, prepareQueue},
		{"PLEG: relist of 1,000 pods without a change", nanoseconds, prepareRelist(0)},
		{"PLEG: relist of 1,000 pods, 10 of them changed", nanoseconds, prepareRelist(10)},
		{"merge: first list of 1,000 pods", nanoseconds, prepareList},
		{"merge: 1,000 pods added one at a time, per pod", nanoseconds, prepareAdds},
		{"status: set without a change", nanoseconds, prepareStatus(false)},
		{"status: set with a change", nanoseconds, prepareStatus(true)},
		{"mass start: 1,000 pods created until the last SyncPod, with a PLEG; elapsed", nanoseconds, prepareMass(false)},
		{"mass kill: 1,000 pods killed until the last SyncTerminatedPod, with a PLEG; elapsed", nanoseconds, prepareMass(true)},
		{"status: 100 changes until 100 patches at a server 20 ms away; elapsed", nanoseconds, prepareSender},
		{"files: one of 10,000 manifests changes until the change is merged; elapsed", nanoseconds, prepareFiles},
	}
}
