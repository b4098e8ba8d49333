package lifecycle

// Phase is where a pod is in its life. It only moves forward.
type Phase uint8

const (
	// Syncing: the pod is wanted, and perhaps waits to be started.
	Syncing Phase = iota
	// Terminating: the pod must end; its containers may still run.
	Terminating
	// Terminated: no container runs, and none will; cleanup is due.
	Terminated
	// Finished: nothing of the pod is left to do.
	Finished
)

var phaseNames = [...]string{Syncing: "sync", Terminating: "terminating", Terminated: "terminated", Finished: "finished"}

// String returns the kubelet's name of the phase; Finished is "finished".
func (p Phase) String() string { return name(phaseNames[:], int(p)) }
