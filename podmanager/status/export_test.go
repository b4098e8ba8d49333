package status

// Known is of how many pods a Sender knows what the sink was told.
func (s *Sender) Known() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.told)
}
