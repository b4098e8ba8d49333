package lifecycle

// Phase is where a pod is in its life. It only moves forward.
type Phase uint8

const (
	// Syncing: the pod is desired, and perhaps waits to be started.
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

// Stage is a Phase with one more step: whether the work of stopping has begun. It only
// moves forward.
type Stage uint8

const (
	// StageSyncing is the phase Syncing.
	StageSyncing Stage = iota
	// StageRequested: the pod must end, and a SyncPod of it may still be running.
	StageRequested
	// StageTerminating: no SyncPod of the pod runs, and none ever will.
	StageTerminating
	// StageTerminated is the phase Terminated.
	StageTerminated
	// StageFinished is the phase Finished.
	StageFinished
	stages
)

var stageNames = [stages]string{"syncing", "requested", "terminating", "terminated", "finished"}

// String returns the stage's name in lower case.
func (s Stage) String() string { return name(stageNames[:], int(s)) }

// phases maps a stage to its phase.
var phases = [stages]Phase{Syncing, Terminating, Terminating, Terminated, Finished}

// Phase is the phase that the stage belongs to; Finished for a value that is no stage.
func (s Stage) Phase() Phase { return phases[min(s, StageFinished)] }

// ending is true while containers are to be stopped.
func (s Stage) ending() bool { return s == StageRequested || s == StageTerminating }

// event is what moves a stage.
type event uint8

const (
	asked    event = iota // an update, or housekeeping, wants the end
	begun                 // work was taken
	ended                 // a SyncPod found the pod at its own end
	stopped               // the last container was stopped
	lifeless              // seen first when all was over
	cleaned               // cleanup is done
	skipped               // a pod that never started has nothing to clean
	events
)

// moves is the machine: one row per event, one column per stage. No entry is
// smaller than its column, so no sequence of events goes back.
var moves = [events][stages]Stage{
	//         from: syncing, requested, terminating, terminated, finished
	asked:    {StageRequested, StageRequested, StageTerminating, StageTerminated, StageFinished},
	begun:    {StageSyncing, StageTerminating, StageTerminating, StageTerminated, StageFinished},
	ended:    {StageTerminating, StageTerminating, StageTerminating, StageTerminated, StageFinished},
	stopped:  {StageTerminated, StageTerminated, StageTerminated, StageTerminated, StageFinished},
	lifeless: {StageTerminated, StageTerminated, StageTerminated, StageTerminated, StageFinished},
	cleaned:  {StageFinished, StageFinished, StageFinished, StageFinished, StageFinished},
	skipped:  {StageFinished, StageFinished, StageFinished, StageFinished, StageFinished},
}

// activity is what the caller is doing for a pod right now. That two pieces of
// work of one pod never overlap is a property of this value alone: only StartPodSync
// leaves ready, and only Done leaves a running one.
type activity uint8

const (
	idle  activity = iota
	ready          // woken, not taken
	running
	// running+Kind: that method is at work.
)

func runs(k Kind) activity         { return running + activity(k) }
func (a activity) isRunning() bool { return a > ready }
func (a activity) kind() Kind      { return Kind(a - running) }

// latches are the sticky flags of an incarnation: facts that stay true once they are true.
type latches uint8

const (
	started  latches = 1 << iota // work was taken at least once
	observed                     // the runtime has shown it before its first sync
	deleted                      // desire is gone: deletion, orphan, runtime only
	evicted                      // content may go at once
	config                       // more is known than what the runtime shows
	static                       // exclusive by full name
)

func (l latches) has(f latches) bool { return l&f != 0 }
