package plan

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// anySandboxID stands for every sandbox in readRecords.
const anySandboxID = ""

// isNewerRecord reports whether rec is newer than other. The attempt number decides, then the creation time,
// then the ID. The creation time alone is not enough, because a clock may be set back.
func isNewerRecord(rec, other *runtime.ContainerStatus) bool {
	if rec.Attempt != other.Attempt {
		return rec.Attempt > other.Attempt
	}
	if !rec.CreatedAt.Equal(other.CreatedAt) {
		return rec.CreatedAt.After(other.CreatedAt)
	}
	return rec.ID > other.ID
}

// nextAttempt returns the attempt number for the next start of a container. It is above all attempts that the
// runtime shows, including attempts of former pods with the same UID, because their log files still exist. It
// is at least the published restart count. If the runtime has lost the published attempt, it is above the
// restart count.
func (e *containerEntry) nextAttempt() uint32 {
	s := e.published
	if s == nil {
		return e.nextNumber
	}
	next := uint32(max(s.RestartCount, 0))
	gone := e.newest == nil || isOlderThanPublished(e.newest, s) || e.hasRemovedAttempt()
	if gone && (s.State.Running != nil || s.State.Terminated != nil || s.ContainerID != "") {
		next++
	}
	return max(next, e.nextNumber)
}

// hasRemovedAttempt reports whether the published restart count is above the attempt of the newest record, and
// both show an exit. Then a later attempt was created and removed without running. It still counts as a
// restart.
func (e *containerEntry) hasRemovedAttempt() bool {
	return e.newest.State == runtime.StateExited && e.published.State.Terminated != nil && int64(e.newest.Attempt) < int64(e.published.RestartCount)
}

// HasVanishedContainer reports whether a container that was published as running, or that was
// started since, has no record. The executor then inspects the pod once more before it decides. A
// record of an older attempt does not count.
func HasVanishedContainer(seen *runtime.PodStatus, in Input) bool {
	if seen == nil || in.Published == nil {
		return false
	}
	newest := make(map[string]*runtime.ContainerStatus)
	incarnation, published := comparableIncarnation(seen, in.Incarnation), in.Memory.withUnpublishedStarts(in.Published, "")
	for i := range seen.Containers {
		c := &seen.Containers[i]
		if last := newest[c.Name]; c.Incarnation == incarnation && (last == nil || isNewerRecord(c, last)) {
			newest[c.Name] = c
		}
	}
	for _, statuses := range [...][]v1.ContainerStatus{
		published.InitContainerStatuses, published.ContainerStatuses, published.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			s := &statuses[i]
			if rec := newest[s.Name]; s.State.Running != nil && (rec == nil || isOlderThanPublished(rec, s)) {
				return true
			}
		}
	}
	return false
}

// isOlderThanPublished reports whether a record is of an older attempt than the published status: its attempt
// is below the published restart count, and its ID is not the published one.
func isOlderThanPublished(rec *runtime.ContainerStatus, published *v1.ContainerStatus) bool {
	return int64(rec.Attempt) < int64(published.RestartCount) && !strings.HasSuffix(published.ContainerID, "://"+rec.ID)
}

// isPublishedAttemptLost reports whether the published status shows a later attempt of a container than the
// runtime does, because the runtime has lost the later one. It returns false if the newest attempt that the
// runtime shows has not exited. It also returns false if the later attempt was only created.
func isPublishedAttemptLost(newest *runtime.ContainerStatus, published *v1.ContainerStatus) bool {
	if newest.State != runtime.StateExited || !isOlderThanPublished(newest, published) {
		return false
	}
	return published.State.Waiting == nil || published.ContainerID == "" || currentTermination(published) != nil
}

// FormerSandboxes returns the IDs of the sandboxes of earlier incarnations. It returns none while a
// container of those incarnations may still run.
func FormerSandboxes(st *runtime.PodStatus, incarnation uint64) (ids []string) {
	for i := range st.Containers {
		if c := &st.Containers[i]; c.Incarnation < incarnation && c.State != runtime.StateExited {
			return nil
		}
	}
	for i := range st.Sandboxes {
		if st.Sandboxes[i].Incarnation < incarnation {
			ids = append(ids, st.Sandboxes[i].ID)
		}
	}
	return ids
}

// comparableIncarnation returns the incarnation to compare with runtime records. An incarnation is the number
// of a pod among several pods in turn with the same UID. It returns 0 if there are records and none has a
// number, because such a runtime does not store it.
func comparableIncarnation(st *runtime.PodStatus, incarnation uint64) uint64 {
	if NewestIncarnation(st) == 0 && len(st.Sandboxes)+len(st.Containers) > 0 {
		return 0
	}
	return incarnation
}

// NewestIncarnation returns the highest incarnation of all records of the pod; 0 if no record has
// one.
func NewestIncarnation(st *runtime.PodStatus) uint64 {
	var incarnation uint64
	for i := range st.Sandboxes {
		incarnation = max(incarnation, st.Sandboxes[i].Incarnation)
	}
	for i := range st.Containers {
		incarnation = max(incarnation, st.Containers[i].Incarnation)
	}
	return incarnation
}
