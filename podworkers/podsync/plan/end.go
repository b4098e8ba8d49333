package plan

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// currentTermination returns the termination of the newest attempt in a published status. The container may
// wait for its restart meanwhile. It returns nil if that attempt has not exited or the status is nil.
func currentTermination(old *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if old == nil {
		return nil
	}
	last := old.LastTerminationState.Terminated
	if old.State.Waiting != nil && last != nil && last.ContainerID != "" && last.ContainerID == old.ContainerID {
		return last
	}
	return old.State.Terminated
}

// isPublishedSuccess reports whether the newest attempt in a published status has exited with 0. The status may
// be nil.
func isPublishedSuccess(old *v1.ContainerStatus) bool {
	end := currentTermination(old)
	return end != nil && end.ExitCode == 0
}

// incrementRestartCount returns count plus one, or count if it is already the largest int32.
func incrementRestartCount(count int32) int32 { return count + int32(min(math.MaxInt32-count, 1)) }

// terminationFromRecord returns the termination state for a container that the runtime reports as exited. If
// the start or the exit time is missing, it uses the other time for both. It replaces a start time after the
// exit by the exit time. A missing reason becomes Completed or Error.
func terminationFromRecord(rec *runtime.ContainerStatus, id string) v1.ContainerStateTerminated {
	finished := rec.FinishedAt
	if finished.IsZero() {
		finished = rec.StartedAt
	}
	started := rec.StartedAt
	if started.IsZero() || started.After(finished) {
		started = finished
	}
	reason := rec.Reason
	if reason == "" {
		reason = string(podstatus.ReasonCompleted)
		if rec.ExitCode != 0 {
			reason = string(podstatus.ReasonError)
		}
	}
	message := rec.Message
	if rec.StartCancelled {
		message = messageStartCancelled
	}
	return v1.ContainerStateTerminated{
		ExitCode: rec.ExitCode, Reason: reason, Message: message, ContainerID: id,
		StartedAt: truncateToSeconds(started), FinishedAt: truncateToSeconds(finished),
	}
}

// truncateToSeconds returns a time without its fraction of a second. A published status has such times, so that
// both can be compared (ST-7).
func truncateToSeconds(t time.Time) metav1.Time {
	if t.Nanosecond() != 0 {
		t = t.Truncate(time.Second)
	}
	return metav1.Time{Time: t}
}
