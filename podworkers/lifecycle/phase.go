package lifecycle

// Phase is where a pod is in its lifecycle. It only moves forward.
type Phase uint8

const (
	// Syncing: the pod is desired. It may still wait for its start.
	Syncing Phase = iota
	// Terminating: the pod must terminate. Its containers may still run.
	Terminating
	// Terminated: no container runs, and none will start. Cleanup is due.
	Terminated
	// Finished: no work is left for the pod.
	Finished
)

var phaseNames = [...]string{Syncing: "sync", Terminating: "terminating", Terminated: "terminated", Finished: "finished"}

// String returns the kubelet's name of the phase. For Finished it returns "finished".
func (p Phase) String() string { return enumName(phaseNames[:], int(p)) }

// Stage is a Phase in which Terminating has two steps: termination requested, and termination
// started. It only moves forward.
type Stage uint8

const (
	// StageSyncing is the phase Syncing.
	StageSyncing Stage = iota
	// StageRequested: the pod must terminate. A SyncPod of it may still be running.
	StageRequested
	// StageTerminating: no SyncPod of the pod runs, and none will start.
	StageTerminating
	// StageTerminated is the phase Terminated.
	StageTerminated
	// StageFinished is the phase Finished.
	StageFinished
	stages
)

var stageNames = [stages]string{"syncing", "requested", "terminating", "terminated", "finished"}

// String returns the stage's name in lower case.
func (s Stage) String() string { return enumName(stageNames[:], int(s)) }

// phases maps a stage to its phase.
var phases = [stages]Phase{Syncing, Terminating, Terminating, Terminated, Finished}

// Phase returns the phase of the stage. It returns Finished for an invalid value.
func (s Stage) Phase() Phase { return phases[min(s, StageFinished)] }

// isTerminating reports whether the pod must terminate and its containers are not stopped yet.
func (s Stage) isTerminating() bool { return s == StageRequested || s == StageTerminating }

// transition is a cause that moves a pod to another stage.
type transition uint8

const (
	terminationRequested transition = iota // an update or housekeeping requests termination
	workStarted                            // a worker starts a call for the pod: StartPodSync
	podCompleted                           // SyncPod reported that the pod has completed
	containersStopped                      // the last container was stopped
	terminalAtFirstSight                   // the first update has a terminal phase, and nothing of the pod runs
	cleanupDone                            // SyncTerminatedPod succeeded
	finishedWithoutStart                   // a static pod that never started must terminate: it has nothing to stop or clean up
	transitions
)

// stageAfter is the state machine: stageAfter[transition][stage] is the next stage. Every entry is
// the column's own stage or a later one, so no sequence of transitions moves a pod back. Not every
// entry is a transition that occurs: for example, cleanupDone occurs in terminated only. The other
// entries of such a row only keep the rule.
var stageAfter = [transitions][stages]Stage{
	//         from: syncing, requested, terminating, terminated, finished
	terminationRequested: {StageRequested, StageRequested, StageTerminating, StageTerminated, StageFinished},
	workStarted:          {StageSyncing, StageTerminating, StageTerminating, StageTerminated, StageFinished},
	podCompleted:         {StageTerminating, StageTerminating, StageTerminating, StageTerminated, StageFinished},
	containersStopped:    {StageTerminated, StageTerminated, StageTerminated, StageTerminated, StageFinished},
	terminalAtFirstSight: {StageTerminated, StageTerminated, StageTerminated, StageTerminated, StageFinished},
	cleanupDone:          {StageFinished, StageFinished, StageFinished, StageFinished, StageFinished},
	finishedWithoutStart: {StageFinished, StageFinished, StageFinished, StageFinished, StageFinished},
}

// activity is what the caller does for a pod now. A call starts only in StartPodSync, in ready.
// Only Done leaves a running activity. Therefore two calls for one pod never overlap. A ready
// record also becomes idle if its pod is finished before the call, and is freed if its pod is
// forgotten.
type activity uint8

const (
	idle  activity = iota
	ready          // the pod was woken, and StartPodSync was not called yet
	// running+Kind: the worker calls that method.
	running
)

// runningActivity returns the activity of a worker that calls the syncer's method k.
func runningActivity(k Kind) activity { return running + activity(k) }

// isRunning reports whether a worker is calling the syncer for the pod.
func (a activity) isRunning() bool { return a > ready }

// calledSyncerMethod returns the syncer's method that the worker is calling. The result has no meaning unless
// isRunning returns true.
func (a activity) calledSyncerMethod() Kind { return Kind(a - running) }

// stickyFlags are facts about one incarnation that stay true once they are true.
type stickyFlags uint8

const (
	flagStarted        stickyFlags = 1 << iota // a worker has started a call for the pod, perhaps a termination
	flagFoundInRuntime                         // a caller found the pod running in the runtime, so it must be stopped even if no call was started
	flagDeleted                                // the pod is not desired: it was deleted, is an orphan, or is known from the runtime only
	flagEvicted                                // the pod was evicted: its content may be removed at once
	flagHasConfig                              // a source has delivered the pod
	flagStatic                                 // only one pod with this full name may run
)

// hasAny reports whether at least one of the given flags is set.
func (l stickyFlags) hasAny(flags stickyFlags) bool { return l&flags != 0 }
