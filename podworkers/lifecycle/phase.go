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

// stage is Phase with the one step inside Terminating that callers can tell
// apart: whether the work of stopping has begun.
type stage uint8

const (
	syncing     stage = iota
	requested         // the end is asked for, a SyncPod may still be running
	terminating       // no SyncPod runs, and none ever will
	terminated
	finished
	stages
)

var stageNames = [stages]string{"syncing", "requested", "terminating", "terminated", "finished"}

func (s stage) String() string { return name(stageNames[:], int(s)) }

// phases maps a stage to what callers see of it.
var phases = [stages]Phase{Syncing, Terminating, Terminating, Terminated, Finished}

func (s stage) phase() Phase { return phases[s] }

// ending is true while containers are to be stopped.
func (s stage) ending() bool { return s == requested || s == terminating }

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
var moves = [events][stages]stage{
	//         from: syncing, requested, terminating, terminated, finished
	asked:    {requested, requested, terminating, terminated, finished},
	begun:    {syncing, terminating, terminating, terminated, finished},
	ended:    {terminating, terminating, terminating, terminated, finished},
	stopped:  {terminated, terminated, terminated, terminated, finished},
	lifeless: {terminated, terminated, terminated, terminated, finished},
	cleaned:  {finished, finished, finished, finished, finished},
	skipped:  {finished, finished, finished, finished, finished},
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
func (a activity) isRunning() bool { return a > running }
func (a activity) kind() Kind      { return Kind(a - running) }

// sticky flags are facts that, once true of an incarnation, stay true.
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
