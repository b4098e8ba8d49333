package sourcetest

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// sink keeps every snapshot, and a copy of each of its pods as it was.
type sink struct {
	news chan struct{} // holds one item if something has arrived since it was last read

	mu struct {
		sync.Mutex
		snapshots []source.Snapshot
		copies    []source.Snapshot
	}
}

func newSink() *sink { return &sink{news: make(chan struct{}, 1)} }

// Set implements source.Sink.
func (s *sink) Set(snapshot source.Snapshot) {
	was := source.Snapshot{Incomplete: snapshot.Incomplete}
	for _, pod := range snapshot.Pods {
		was.Pods = append(was.Pods, pod.DeepCopy())
	}
	s.mu.Lock()
	s.mu.snapshots = append(s.mu.snapshots, snapshot)
	s.mu.copies = append(s.mu.copies, was)
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// all are the snapshots so far, and copies of them as they arrived.
func (s *sink) all() (snapshots, copies []source.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.snapshots, s.mu.copies
}

// find is the pod with a UID, or nil.
func find(s source.Snapshot, uid string) *v1.Pod {
	for _, pod := range s.Pods {
		if pod != nil && string(pod.UID) == uid {
			return pod
		}
	}
	return nil
}
