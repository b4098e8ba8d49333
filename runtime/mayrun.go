package runtime

// MayRun reports whether a container in this state runs, or may: a container whose state
// the runtime cannot tell may run.
func (s State) MayRun() bool { return s == StateRunning || s == StateUnknown }

// MayRun reports whether anything of a pod runs, or may: a container, or a
// sandbox that is ready.
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

// MayRun reports whether anything of a pod runs, or may: a container, or a
// sandbox that is ready. A nil status reports false.
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
