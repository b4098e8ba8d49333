package plan

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// currentEnd is how a container ended of which nothing was begun after that. Nil:
// it has not ended, or something was.
func currentEnd(old *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if old == nil {
		return nil
	}
	last := old.LastTerminationState.Terminated
	if old.State.Waiting != nil && last != nil && last.ContainerID != "" && last.ContainerID == old.ContainerID {
		return last
	}
	return old.State.Terminated
}

func succeeded(old *v1.ContainerStatus) bool {
	end := currentEnd(old)
	return end != nil && end.ExitCode == 0
}

// oneMore is a restart count after a restart.
func oneMore(count int32) int32 { return count + int32(min(math.MaxInt32-count, 1)) }

// terminated describes an exited record. Times that a runtime left out or got
// in the wrong order are set so that an end has a beginning before it.
func terminated(rec *runtime.ContainerStatus, id string) v1.ContainerStateTerminated {
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
		StartedAt: wholeSeconds(started), FinishedAt: wholeSeconds(finished),
	}
}

// wholeSeconds is a time as it is published (ST-7), so that it can be compared
// with what was.
func wholeSeconds(t time.Time) metav1.Time {
	if t.Nanosecond() != 0 {
		t = t.Truncate(time.Second)
	}
	return metav1.Time{Time: t}
}
