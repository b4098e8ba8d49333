package podspec

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// MaxDuration stands for an unlimited time. A sum of a few such durations does not overflow.
const MaxDuration time.Duration = math.MaxInt64 / 4

// ActiveDeadline returns the time at which a pod has been active for activeDeadlineSeconds. The result is false if the
// pod has no deadline or no start time.
func ActiveDeadline(pod *v1.Pod, status *v1.PodStatus) (time.Time, bool) {
	if pod.Spec.ActiveDeadlineSeconds == nil || status.StartTime.IsZero() {
		return time.Time{}, false
	}
	return status.StartTime.Add(SecondsToDuration(*pod.Spec.ActiveDeadlineSeconds)), true
}

// SecondsToDuration converts a number of seconds to a duration between 0 and MaxDuration. Negative numbers become 0 and
// numbers that are too large become MaxDuration.
func SecondsToDuration(n int64) time.Duration {
	return time.Duration(min(max(n, 0), int64(MaxDuration/time.Second))) * time.Second
}
