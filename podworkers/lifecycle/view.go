package lifecycle

// View answers every question about one pod at one instant. The zero View is
// that of an unknown pod before all sources have delivered.
type View struct {
	incarnation uint64
	generation  uint64
	grace       int64
	stage       stage
	activity    activity
	latches     latches
	known       bool
	synced      bool
	restart     bool
}

// Known tells whether the table knows the pod.
func (v View) Known() bool { return v.known }

// Phase of a known pod; Syncing for an unknown one.
func (v View) Phase() Phase { return Syncing }

// Incarnation of a known pod, 0 for an unknown one.
func (v View) Incarnation() uint64 { return v.incarnation }

// IsPodKnownTerminated as in the kubelet.
func (v View) IsPodKnownTerminated() bool { return false }

// CouldHaveRunningContainers as in the kubelet.
func (v View) CouldHaveRunningContainers() bool { return false }

// ShouldPodBeFinished as in the kubelet.
func (v View) ShouldPodBeFinished() bool { return false }

// IsPodTerminationRequested as in the kubelet.
func (v View) IsPodTerminationRequested() bool { return false }

// ShouldPodContainersBeTerminating as in the kubelet.
func (v View) ShouldPodContainersBeTerminating() bool { return false }

// ShouldPodRuntimeBeRemoved as in the kubelet.
func (v View) ShouldPodRuntimeBeRemoved() bool { return false }

// ShouldPodContentBeRemoved as in the kubelet.
func (v View) ShouldPodContentBeRemoved() bool { return false }

// IsPodForMirrorPodTerminating as in the kubelet, for the view of Table.Owner.
func (v View) IsPodForMirrorPodTerminating() bool { return false }
