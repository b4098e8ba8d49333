package lifecycle

// View is the state of one pod at one moment. Its methods have the kubelet's names and return the
// kubelet's answers. The answers for unknown pods change when every source has delivered: before
// that an unknown pod may be running. The zero View is the view of an unknown pod before all
// sources have delivered. Other implementations of PodWorkers set the fields themselves; the
// methods read nothing else.
type View struct {
	// Known is true if the table has a record of the pod. For an unknown pod all fields except
	// AllSources are zero.
	Known bool
	// AllSources is true once every source has delivered.
	AllSources bool
	// Incarnation is the number of the pod's incarnation. It rises with each incarnation of the
	// UID. It does not start at 1: a UID without a record gets a number that is higher than
	// the number of every forgotten record.
	Incarnation uint64
	// Generation is the number of the pod's current content.
	Generation uint64
	// Stage is the stage of the pod; see Phase.
	Stage Stage
	// Grace is the effective grace period. It is unset until the pod has to terminate.
	Grace Grace
	// Started is true once a worker has started a call for the pod, perhaps a termination.
	Started bool
	// Working is true while a method of the PodSyncer runs for the pod.
	Working bool
	// Deleted is true if the pod is no longer desired.
	Deleted bool
	// Evicted is true if the pod was evicted.
	Evicted bool
	// HasConfig is true if a source has delivered the pod, and false if only the runtime has shown
	// it.
	HasConfig bool
	// Static is true for a static pod: only one pod with its full name may run.
	Static bool
	// RestartRequested is true if the UID is desired again. The next incarnation starts when this
	// one is finished.
	RestartRequested bool
	// RestartEvicted is true if the next incarnation was evicted while it waited. It is terminated
	// without a start.
	RestartEvicted bool
	// AwaitsFullName is true for a static pod that must not start yet, because an earlier pod with
	// the same full name has not stopped or has not started yet.
	AwaitsFullName bool
}

// view returns the View of a record. If r is nil it returns the View of an unknown pod.
func (t *Table) view(r *record) View {
	v := View{AllSources: t.allSourcesDelivered}
	if r == nil {
		return v
	}
	v.Known, v.Incarnation, v.Generation, v.Stage, v.Grace = true, r.incarnation, r.generation, r.stage, r.grace
	v.Started, v.Working, v.Deleted, v.Evicted = r.flags.hasAny(flagStarted), r.activity.isRunning(), r.flags.hasAny(flagDeleted), r.flags.hasAny(flagEvicted)
	v.HasConfig, v.Static, v.AwaitsFullName = r.flags.hasAny(flagHasConfig), r.flags.hasAny(flagStatic), !t.holdsFullNameIfNeeded(r)
	if r.successor() != nil {
		v.RestartRequested, v.RestartEvicted = true, r.cold.next.evicted
	}
	return v
}

// Phase returns the phase of a known pod, and Syncing for an unknown one.
func (v View) Phase() Phase { return v.Stage.Phase() }

// IsPodKnownTerminated reports whether the pod is known and none of its containers runs. Admission
// uses it: an unknown pod was never admitted.
func (v View) IsPodKnownTerminated() bool { return v.Known && v.Stage >= StageTerminated }

// CouldHaveRunningContainers reports whether a container of the pod may be running.
func (v View) CouldHaveRunningContainers() bool {
	if !v.Known {
		return !v.AllSources
	}
	return v.Stage < StageTerminated
}

// ShouldPodBeFinished reports whether no work is left for the pod.
func (v View) ShouldPodBeFinished() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Stage == StageFinished
}

// IsPodTerminationRequested reports whether the pod is known and has to terminate. A SyncPod of it
// may still be running.
func (v View) IsPodTerminationRequested() bool { return v.Known && v.Stage > StageSyncing }

// ShouldPodContainersBeTerminating reports whether no SyncPod of the pod runs and none will. From
// then on no container of the pod is started.
func (v View) ShouldPodContainersBeTerminating() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Stage >= StageTerminating
}

// ShouldPodRuntimeBeRemoved reports whether resources that only running containers need may be
// removed.
func (v View) ShouldPodRuntimeBeRemoved() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Stage >= StageTerminated
}

// ShouldPodContentBeRemoved reports whether logs, directories and dead containers may also be
// removed.
func (v View) ShouldPodContentBeRemoved() bool {
	if !v.Known {
		return v.AllSources
	}
	return v.Evicted || v.Deleted && v.Stage >= StageTerminated
}

// IsPodForMirrorPodTerminating reports whether the pod is a static pod that was started and is
// being stopped. The caller keeps its mirror pod meanwhile. Called on Table.Owner it is the
// kubelet's IsPodForMirrorPodTerminatingByFullName.
func (v View) IsPodForMirrorPodTerminating() bool {
	return v.Known && v.Static && v.Started && v.Stage.isTerminating()
}
