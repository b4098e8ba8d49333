// Package workqueuetest checks that a workqueue.WorkQueue, ours or yours, keeps its contract.
//
//	func TestQueue(t *testing.T) {
//		workqueuetest.Run(t, func() workqueue.WorkQueue { return myqueue.New() })
//	}
//
// Each case makes queues of its own and calls them from one goroutine, as Workers do. The time is
// an argument, so no case waits. The order in which GetWork returns pods is not checked, except
// that the same calls must give the same results.
package workqueuetest
