package sourcetest

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// recordingSink stores every snapshot, and a copy of it from the moment of its delivery.
type recordingSink struct {
	changed chan struct{} // has one item if a snapshot arrived since it was last read

	mu struct {
		sync.Mutex
		snapshots []source.Snapshot
		copies    []source.Snapshot
	}
}

// newRecordingSink returns a sink without snapshots that records each snapshot it gets.
func newRecordingSink() *recordingSink { return &recordingSink{changed: make(chan struct{}, 1)} }

// Set implements source.Sink.
func (s *recordingSink) Set(snapshot source.Snapshot) {
	was := source.Snapshot{Incomplete: snapshot.Incomplete}
	for _, pod := range snapshot.Pods {
		was.Pods = append(was.Pods, pod.DeepCopy())
	}
	s.mu.Lock()
	s.mu.snapshots = append(s.mu.snapshots, snapshot)
	s.mu.copies = append(s.mu.copies, was)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// recorded returns the snapshots so far, and the deep copies that were made when they were delivered.
func (s *recordingSink) recorded() (snapshots, copies []source.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.snapshots, s.mu.copies
}

// findPod returns the pod of a snapshot with a UID, or nil.
func findPod(s source.Snapshot, uid string) *v1.Pod {
	for _, pod := range s.Pods {
		if pod != nil && string(pod.UID) == uid {
			return pod
		}
	}
	return nil
}
