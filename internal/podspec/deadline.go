package podspec

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// MaxDuration is as good as for ever, and leaves room for sums of a few.
const MaxDuration time.Duration = math.MaxInt64 / 4

// ActiveDeadline is when a pod has been active for as long as its spec allows. False: it
// has no deadline, or has not started.
func ActiveDeadline(pod *v1.Pod, status *v1.PodStatus) (time.Time, bool) {
	if pod.Spec.ActiveDeadlineSeconds == nil || status.StartTime.IsZero() {
		return time.Time{}, false
	}
	return status.StartTime.Add(SecondsToDuration(*pod.Spec.ActiveDeadlineSeconds)), true
}

// SecondsToDuration is a number of them as a duration that is not negative, and by which
// a time can be moved, whatever the number.
func SecondsToDuration(n int64) time.Duration {
	return time.Duration(min(max(n, 0), int64(MaxDuration/time.Second))) * time.Second
}
