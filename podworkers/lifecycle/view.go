package lifecycle

// View answers every question about one pod at one instant. Its methods are
// named as in the kubelet, and so are the answers for unknown pods, which
// change once every source has delivered: before that a pod that is not known
// may well be running. The zero View is that of an unknown pod before.
type View struct {
	incarnation      uint64
	generation       uint64
	stage            stage
	activity         activity
	latches          latches
	known            bool
	synced           bool
	restart          bool
	successorEvicted bool
	awaitsName       bool
	grace            Grace
}

func (t *Table) view(r *record) View {
	if r == nil {
		return View{synced: t.synced}
	}
	return View{
		incarnation: r.incarnation, generation: r.generation, stage: r.stage, activity: r.activity, latches: r.latches,
		known: true, synced: t.synced, restart: r.successor() != nil, successorEvicted: r.successor() != nil && r.coldFields.next.evicted, awaitsName: !t.mayRun(r), grace: Grace{r.grace, r.grace != 0},
	}
}

// Known is true if the table has a record of the pod.
func (v View) Known() bool { return v.known }

// Phase of a known pod; Syncing for an unknown one.
func (v View) Phase() Phase { return v.stage.phase() }

// Incarnation counts the incarnations of the pod's UID; 0 for an unknown pod.
func (v View) Incarnation() uint64 { return v.incarnation }

// Generation of the pod's current content; 0 for an unknown pod.
func (v View) Generation() uint64 { return v.generation }

// Grace is the effective grace, unset until the pod has to end.
func (v View) Grace() Grace { return v.grace }

// Started is true once work of the pod was taken.
func (v View) Started() bool { return v.latches.has(started) }

// Working is true while a method of the syncer runs for the pod.
func (v View) Working() bool { return v.activity.isRunning() }

// Deleted is true if the pod is no longer desired.
func (v View) Deleted() bool { return v.latches.has(deleted) }

// Evicted is true if the pod was evicted.
func (v View) Evicted() bool { return v.latches.has(evicted) }

// HasConfig is false for a pod that only the runtime knows.
func (v View) HasConfig() bool { return v.latches.has(config) }

// Static is true for a pod that is exclusive by its full name.
func (v View) Static() bool { return v.latches.has(static) }

// RestartRequested is true if the UID is desired again: another incarnation
// begins when this one is finished.
func (v View) RestartRequested() bool { return v.restart }

// RestartEvicted is true if that incarnation has been evicted while it waits: it
// begins with its end, and starts nothing.
func (v View) RestartEvicted() bool { return v.successorEvicted }

// AwaitsFullName is true for a static pod that must not start yet, because
// another one holds its full name, or came before it.
func (v View) AwaitsFullName() bool { return v.awaitsName }

// IsPodKnownTerminated is true if the pod is known and none of its containers
// runs. For admission: an unknown pod was never admitted.
func (v View) IsPodKnownTerminated() bool { return v.known && v.stage >= terminated }

// CouldHaveRunningContainers is false only if it is certain that none runs.
func (v View) CouldHaveRunningContainers() bool {
	if !v.known {
		return !v.synced
	}
	return v.stage < terminated
}

// ShouldPodBeFinished is true if nothing of the pod is left to do.
func (v View) ShouldPodBeFinished() bool {
	if !v.known {
		return v.synced
	}
	return v.stage == finished
}

// IsPodTerminationRequested is true if the pod is known and has to end. A
// SyncPod of it may still be running.
func (v View) IsPodTerminationRequested() bool { return v.known && v.stage > syncing }

// ShouldPodContainersBeTerminating is true if no SyncPod of the pod runs, or
// ever will: no container of it is started any more.
func (v View) ShouldPodContainersBeTerminating() bool {
	if !v.known {
		return v.synced
	}
	return v.stage >= terminating
}

// ShouldPodRuntimeBeRemoved is true if what running containers need may go.
func (v View) ShouldPodRuntimeBeRemoved() bool {
	if !v.known {
		return v.synced
	}
	return v.stage >= terminated
}

// ShouldPodContentBeRemoved is true if logs, directories and dead containers
// may go too.
func (v View) ShouldPodContentBeRemoved() bool {
	if !v.known {
		return v.synced
	}
	return v.latches.has(evicted) || v.latches.has(deleted) && v.stage >= terminated
}

// IsPodForMirrorPodTerminating is true if the pod is a static one that was
// started and is being stopped: its mirror is to be kept meanwhile. Asked of
// Table.Owner it is the kubelet's IsPodForMirrorPodTerminatingByFullName.
func (v View) IsPodForMirrorPodTerminating() bool {
	return v.known && v.latches.has(static) && v.latches.has(started) && v.stage.ending()
}
