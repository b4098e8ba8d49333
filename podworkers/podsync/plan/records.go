package plan

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// anySandbox asks for records whichever sandbox they belong to.
const anySandbox = ""

// newer orders the records of one name: by attempt, which only we count, and
// only then by time, which a clock may have turned back.
func newer(a, b *runtime.ContainerStatus) bool {
	if a.Attempt != b.Attempt {
		return a.Attempt > b.Attempt
	}
	if !a.CreatedAt.Equal(b.CreatedAt) {
		return a.CreatedAt.After(b.CreatedAt)
	}
	return a.ID > b.ID
}

// nextAttempt is the number of a container's next attempt. Records of former
// lives count: a log file or a name of theirs must not be taken again. So does
// the published number of restarts, as records may be lost. The published count
// of one that ended without a record includes that already; the count of any
// other is the number of the attempt that was, which is counted by its record
// unless that is gone.
func (e *entry) nextAttempt() uint32 {
	s := e.published
	if s == nil {
		return e.next
	}
	next := uint32(max(s.RestartCount, 0))
	gone := e.newest == nil || outrun(e.newest, s) || e.wasMade()
	if gone && (s.State.Running != nil || s.State.Terminated != nil || s.ContainerID != "") {
		next++
	}
	return max(next, e.next)
}

// wasMade reports whether an attempt was made after the one that has the newest record,
// and has ended: it counted, and was removed without having run.
func (e *entry) wasMade() bool {
	return e.newest.State == runtime.StateExited && e.published.State.Terminated != nil && int64(e.newest.Attempt) < int64(e.published.RestartCount)
}

// HasVanishedContainer reports whether a container that was published as running, or that was started since, has
// no record. The executor then inspects the pod once more before it decides. An older attempt is no
// record of the container.
func HasVanishedContainer(seen *runtime.PodStatus, in Input) bool {
	if seen == nil || in.Published == nil {
		return false
	}
	newest := make(map[string]*runtime.ContainerStatus)
	incarnation, published := storedIncarnation(seen, in.Incarnation), in.Memory.withStarts(in.Published, "")
	for i := range seen.Containers {
		c := &seen.Containers[i]
		if last := newest[c.Name]; c.Incarnation == incarnation && (last == nil || newer(c, last)) {
			newest[c.Name] = c
		}
	}
	for _, statuses := range [...][]v1.ContainerStatus{
		published.InitContainerStatuses, published.ContainerStatuses, published.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			s := &statuses[i]
			if rec := newest[s.Name]; s.State.Running != nil && (rec == nil || outrun(rec, s)) {
				return true
			}
		}
	}
	return false
}

// outrun reports whether the newest record of a container is that of an older
// attempt than what was published of it: no attempt has a number below the
// restart count that was published before it.
func outrun(rec *runtime.ContainerStatus, published *v1.ContainerStatus) bool {
	return int64(rec.Attempt) < int64(published.RestartCount) && !strings.HasSuffix(published.ContainerID, "://"+rec.ID)
}

// isLost reports whether the newest record of a container is that of an older
// attempt than was published, running, ended or vanished, so that it does not tell
// what became of that. One that was only created had not run: the end before it
// is still the last.
func isLost(newest *runtime.ContainerStatus, published *v1.ContainerStatus) bool {
	if newest.State != runtime.StateExited || !outrun(newest, published) {
		return false
	}
	return published.State.Waiting == nil || published.ContainerID == "" || currentEnd(published) != nil
}

// FormerSandboxes returns the sandboxes of the incarnations before this one. It returns none while
// a container of those incarnations may still run.
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

// storedIncarnation returns the incarnation to compare with records: zero if no record has one,
// because the runtime does not store incarnations.
func storedIncarnation(st *runtime.PodStatus, incarnation uint64) uint64 {
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
