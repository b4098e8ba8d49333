package runtime

// MayRun reports whether a container in this state may be running. StateUnknown may be running.
func (s State) MayRun() bool { return s == StateRunning || s == StateUnknown }

// MayRun reports whether a container of the pod may be running or a sandbox is ready.
func (p *Pod) MayRun() bool {
	for i := range p.Sandboxes {
		if p.Sandboxes[i].Ready {
			return true
		}
	}
	for i := range p.Containers {
		if p.Containers[i].State.MayRun() {
			return true
		}
	}
	return false
}

// MayRun reports whether a container of the pod may be running or a sandbox is ready. A nil status
// returns false.
func (s *PodStatus) MayRun() bool {
	if s == nil {
		return false
	}
	for i := range s.Sandboxes {
		if s.Sandboxes[i].Ready {
			return true
		}
	}
	for i := range s.Containers {
		if s.Containers[i].State.MayRun() {
			return true
		}
	}
	return false
}
