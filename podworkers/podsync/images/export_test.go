package images

// Left counts everything that is kept of calls.
func (m *Manager) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mu.flights) + m.mu.waiting.Len() + m.mu.pulls + len(m.mu.pullsByRegistry) + len(m.mu.leases) + len(m.mu.removals) + len(m.mu.sweeps)
}
