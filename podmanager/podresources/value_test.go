package podresources_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// Unset, unlimited and zero are three values.
func TestValue_ThreeCases(t *testing.T) {
	var unset podresources.Value
	zero, unlimited := podresources.Finite(0), podresources.Unlimited()
	assert.Equal(t, []string{"unset", "0", "unlimited", "7", "0"}, []string{
		unset.String(), zero.String(), unlimited.String(), podresources.Finite(7).String(), podresources.Finite(-7).String(),
	})
	assert.NotEqual(t, unset, zero)
	assert.NotEqual(t, unset, unlimited)
	assert.NotEqual(t, zero, unlimited)
	assert.Equal(t, []bool{false, true, true}, []bool{unset.IsSet(), zero.IsSet(), unlimited.IsSet()})
	assert.Equal(t, []bool{false, false, true}, []bool{unset.IsUnlimited(), zero.IsUnlimited(), unlimited.IsUnlimited()})
	for v, want := range map[podresources.Value]bool{unset: false, zero: true, unlimited: false, podresources.Finite(3): true} {
		_, ok := v.Number()
		assert.Equal(t, want, ok, "%v", v)
	}
	n, _ := podresources.Finite(3).Number()
	assert.Equal(t, int64(3), n)
}

// Unlimited is larger than every number, and an unset value is not compared.
func TestValue_Exceeds(t *testing.T) {
	var unset podresources.Value
	one, two, unlimited := podresources.Finite(1), podresources.Finite(2), podresources.Unlimited()
	for _, c := range []struct {
		value, limit podresources.Value
		want         bool
	}{
		{one, two, false}, {two, one, true}, {one, one, false},
		{unlimited, two, true}, {two, unlimited, false}, {unlimited, unlimited, false},
		{unset, one, false}, {one, unset, false}, {unlimited, unset, false}, {unset, unlimited, false},
	} {
		assert.Equal(t, c.want, c.value.Exceeds(c.limit), "%v exceeds %v", c.value, c.limit)
	}
}
