package plan

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// anySandboxID stands for every sandbox in readRecords.
const anySandboxID = ""

// isNewerRecord compares two records of one name by attempt, which only this module counts, and
// then by creation time, which a clock may have set back.
func isNewerRecord(a, b *runtime.ContainerStatus) bool {
	if a.Attempt != b.Attempt {
		return a.Attempt > b.Attempt
	}
	if !a.CreatedAt.Equal(b.CreatedAt) {
		return a.CreatedAt.After(b.CreatedAt)
	}
	return a.ID > b.ID
}

// nextAttempt returns the attempt number of a container's next start. It is above the attempts of
// all records, also of former incarnations, whose names and log files still exist. It is also above
// the published restart count, because records may be lost. If the record of the published attempt
// is lost, that attempt counts too.
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

// hasRemovedAttempt reports whether the published status counts an attempt later than the newest exited record.
// That attempt was created, never ran and was removed. It still counts as a restart.
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

// isOlderThanPublished reports whether a record belongs to an older attempt than the published one.
func isOlderThanPublished(rec *runtime.ContainerStatus, published *v1.ContainerStatus) bool {
	return int64(rec.Attempt) < int64(published.RestartCount) && !strings.HasSuffix(published.ContainerID, "://"+rec.ID)
}

// isPublishedAttemptLost reports whether the record of the published attempt is lost, so that the
// newest record belongs to an older attempt and does not show how the published one ended. A
// published attempt that was only created does not count: the termination before it is still the
// last one.
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

// comparableIncarnation returns the incarnation to compare with records: zero if no record has one,
// because the runtime does not store incarnations.
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
