package podspec_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestActiveDeadline_AD1(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{ActiveDeadlineSeconds: new(int64(90))}}
	at, ok := podspec.ActiveDeadline(pod, &v1.PodStatus{StartTime: new(metav1.NewTime(start))})
	assert.True(t, ok)
	assert.Equal(t, start.Add(90*time.Second), at)

	_, ok = podspec.ActiveDeadline(pod, &v1.PodStatus{})
	assert.False(t, ok, "it has not started")
	_, ok = podspec.ActiveDeadline(pod, &v1.PodStatus{StartTime: &metav1.Time{}})
	assert.False(t, ok, "it has not started")
	_, ok = podspec.ActiveDeadline(&v1.Pod{}, &v1.PodStatus{StartTime: new(metav1.NewTime(start))})
	assert.False(t, ok, "it has no deadline")
}

func TestSecondsToDuration_F11(t *testing.T) {
	for n, want := range map[int64]time.Duration{0: 0, -1: 0, math.MinInt64: 0, 7: 7 * time.Second} {
		assert.Equal(t, want, podspec.SecondsToDuration(n))
	}
	huge := podspec.SecondsToDuration(math.MaxInt64)
	assert.Positive(t, huge+huge+huge, "room for sums")
	assert.True(t, start.Add(huge).After(start.AddDate(70, 0, 0)))
}
