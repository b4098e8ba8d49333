package statussink

import "k8s.io/apimachinery/pkg/types"

// Records is how many pods at the server are remembered.
func (s *Sink) Records() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.records)
}

// StatusPatch returns the patch that Send would make for the pod with this UID at the server.
func (s *Sink) StatusPatch(uid types.UID) ([]byte, error) { return s.statusPatch(uid) }
