// Package workqueuetest checks that a workqueue.WorkQueue, ours or yours, keeps its
// promises.
//
//	func TestQueue(t *testing.T) {
//		workqueuetest.Run(t, func() workqueue.WorkQueue { return myqueue.New() })
//	}
//
// Each case makes queues of its own and calls them from one goroutine, as Workers do. Time
// is an argument, so that nothing waits. The order in which GetWork returns pods is not
// checked, apart from this: the same calls give the same answers.
package workqueuetest
