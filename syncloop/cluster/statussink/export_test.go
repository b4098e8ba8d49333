package statussink

// Records is how many pods at the server are remembered.
func (s *Sink) Records() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.records)
}
