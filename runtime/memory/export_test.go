package memory

import "k8s.io/apimachinery/pkg/types"

// CommandRun is runForCommand, for its table of examples.
var CommandRun = runForCommand

// Waiters is how many wait for a change of any container or for events.
func (r *Runtime) Waiters() int {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	n := len(r.m.mu.eventStreams)
	for _, c := range r.m.mu.containers {
		if c.extras != nil {
			n += len(c.extras.waiters)
		}
	}
	return n
}

// Planned is how many changes of state lie ahead.
func (r *Runtime) Planned() int {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	return len(r.m.mu.changes)
}

// Remembered is of how many UIDs something is remembered.
func (r *Runtime) Remembered() int {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	return len(r.m.mu.histories)
}

// Counted is of how many containers of a UID starts are counted.
func (r *Runtime) Counted(uid types.UID) int {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	if p := r.m.mu.histories[uid]; p != nil {
		return len(p.starts)
	}
	return 0
}

// FileBytes is how much the files of all containers take.
func (r *Runtime) FileBytes() int { return r.m.fileLimits.Used() }
