package lifecycle_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// B-049: unset and zero are different in each conversion and in each choice.
func TestGrace_B049_UnsetIsNotZero(t *testing.T) {
	unset, zero, five := lifecycle.Grace{}, lifecycle.Seconds(0), lifecycle.Seconds(5)
	for _, g := range []lifecycle.Grace{unset, zero, five} {
		assert.Equal(t, g, lifecycle.GraceFromAPI(g.ToAPI()), g)
		assert.Equal(t, g, g.Min(unset), g)
		assert.Equal(t, g, unset.Min(g), g)
		assert.Equal(t, g, unset.Or(g), g)
	}
	assert.Nil(t, unset.ToAPI())
	assert.Equal(t, zero, zero.Min(five))
	assert.Equal(t, zero, five.Min(zero))
	assert.Equal(t, zero, zero.Or(five))
	assert.Equal(t, five, five.Or(zero))
	assert.Equal(t, "unset 0s 5s", unset.String()+" "+zero.String()+" "+five.String())
}

// The pointers that Grace takes and returns are not shared.
func TestGrace_CopiesSeconds(t *testing.T) {
	seconds := new(int64(7))
	g := lifecycle.GraceFromAPI(seconds)
	*g.ToAPI(), *seconds = 1, 2
	assert.Equal(t, lifecycle.Seconds(7), g)
}

// F11: each number of seconds becomes a duration that can be added to a time.
func TestGrace_F11_Duration(t *testing.T) {
	assert.Zero(t, lifecycle.Grace{}.Duration())
	assert.Zero(t, lifecycle.Seconds(math.MinInt64).Duration())
	assert.Equal(t, 7*time.Second, lifecycle.Seconds(7).Duration())
	now := time.Now()
	assert.True(t, now.Add(lifecycle.Seconds(math.MaxInt64).Duration()).After(now.AddDate(70, 0, 0)))
}

// The first grace period that is set applies to a container. A zero counts as set.
func TestContainerGrace(t *testing.T) {
	c := lifecycle.ContainerGrace{
		Override: lifecycle.Seconds(0), Deletion: lifecycle.Seconds(4), Container: lifecycle.Seconds(3),
		Spec: lifecycle.Seconds(2), Default: lifecycle.Seconds(1),
	}
	for _, next := range []struct {
		want  int64
		unset *lifecycle.Grace
	}{{0, &c.Override}, {4, &c.Deletion}, {3, &c.Container}, {2, &c.Spec}, {1, &c.Default}} {
		assert.Equal(t, lifecycle.Seconds(next.want), c.Effective())
		*next.unset = lifecycle.Grace{}
	}
	assert.False(t, c.Effective().Set)
}
