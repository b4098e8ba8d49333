package lifecycle

// View is what PodWorkers know of one pod at one instant. Its methods are named as in the
// kubelet, and so are their answers for unknown pods, which change once every source has
// delivered: before that an unknown pod may be running. The zero View is that of an unknown
// pod before. Other implementations of PodWorkers fill the fields themselves; the methods
// read nothing else.
type View struct {
	// Known is true if there is a record of the pod. All fields but AllSources are zero
	// for an unknown pod.
	Known bool
	// AllSources is true once every source has delivered.
	AllSources bool
	// Incarnation counts the incarnations of the pod's UID, from 1.
	Incarnation uint64
	// Generation of the pod's current content.
	Generation uint64
	// Stage of the pod; see Phase.
	Stage Stage
	// Grace is the effective grace, unset until the pod has to end.
	Grace Grace
	// Started is true once work of the pod was taken.
	Started bool
	// Working is true while a method of the PodSyncer runs for the pod.
	Working bool
	// Deleted is true if the pod is no longer desired.
	Deleted bool
	// Evicted is true if the pod was evicted.
	Evicted bool
	// HasConfig is false for a pod that only the runtime knows.
	HasConfig bool
	// Static is true for a pod that is exclusive by its full name.
	Static bool
	// RestartRequested is true if the UID is desired again: another incarnation begins
	// when this one is finished.
	RestartRequested bool
	// RestartEvicted is true if that incarnation has been evicted while it waits: it
	// begins with its end, and starts nothing.
	RestartEvicted bool
	// AwaitsFullName is true for a static pod that must not start yet, because another
	// one holds its full name, or came before it.
	AwaitsFullName bool
}

func (t *Table) view(r *record) View {
	v := View{AllSources: t.synced}
	if r == nil {
		return v
	}
	v.Known, v.Incarnation, v.Generation, v.Stage, v.Grace = true, r.incarnation, r.generation, r.stage, Grace{r.grace, r.grace != 0}
	v.Started, v.Working, v.Deleted, v.Evicted = r.latches.has(started), r.activity.isRunning(), r.latches.has(deleted), r.latches.has(evicted)
	v.HasConfig, v.Static, v.AwaitsFullName = r.latches.has(config), r.latches.has(static), !t.mayRun(r)
	if r.successor() != nil {
		v.RestartRequested, v.RestartEvicted = true, r.coldFields.next.evicted
	}
	return v
}

// Phase of a known pod; Syncing for an unknown one.
func (v View) Phase() Phase { return v.Stage.Phase() }

// IsPodKnownTerminated is true if the pod is known and none of its containers
// runs. For admission: an unknown pod was never admitted.
func (v View) IsPodKnownTerminated() bool { return v.Known && v.Stage >= StageTerminated }

// CouldHaveRunningContainers is false only if it is certain that none runs.
func (v View) CouldHaveRunningContainers() bool {
	if !v.Known {
		return !v.AllSources
	}
	return v.Stage < StageTerminated
}

// ShouldPodBeFinished is true if nothing of the pod is left to do.
func (v View) ShouldPodBeFinished() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Stage == StageFinished
}

// IsPodTerminationRequested is true if the pod is known and has to end. A
// SyncPod of it may still be running.
func (v View) IsPodTerminationRequested() bool { return v.Known && v.Stage > StageSyncing }

// ShouldPodContainersBeTerminating is true if no SyncPod of the pod runs, or
// ever will: no container of it is started any more.
func (v View) ShouldPodContainersBeTerminating() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Stage >= StageTerminating
}

// ShouldPodRuntimeBeRemoved is true if what running containers need may go.
func (v View) ShouldPodRuntimeBeRemoved() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Stage >= StageTerminated
}

// ShouldPodContentBeRemoved is true if logs, directories and dead containers
// may go too.
func (v View) ShouldPodContentBeRemoved() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Evicted || v.Deleted && v.Stage >= StageTerminated
}

// IsPodForMirrorPodTerminating is true if the pod is a static one that was
// started and is being stopped: its mirror is to be kept meanwhile. Asked of
// Table.Owner it is the kubelet's IsPodForMirrorPodTerminatingByFullName.
func (v View) IsPodForMirrorPodTerminating() bool {
	return v.Known && v.Static && v.Started && v.Stage.ending()
}
