package status

// Known returns the number of pods for which a Sender has stored a sent status.
func (s *Sender) Known() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.sent)
}
