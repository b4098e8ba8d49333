package podspec

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A quantity with the maximum scale or number of bits can be computed with. One more of either cannot.
func TestCheckQuantities_ExactBounds(t *testing.T) {
	bits := func(n uint) func(*resource.Quantity) {
		return func(q *resource.Quantity) { q.AsDec().SetUnscaledBig(new(big.Int).Lsh(big.NewInt(1), n-1)) }
	}
	for name, c := range map[string]struct {
		change func(*resource.Quantity)
		want   string
	}{
		"scale 256": {func(q *resource.Quantity) { q.AsDec().SetScale(256) }, ""}, "scale -256": {func(q *resource.Quantity) { q.AsDec().SetScale(-256) }, ""},
		"scale 257": {func(q *resource.Quantity) { q.AsDec().SetScale(257) }, ":"}, "scale -257": {func(q *resource.Quantity) { q.AsDec().SetScale(-257) }, ":"},
		"1024 bits": {bits(1024), ""}, "1025 bits": {bits(1025), ":"},
	} {
		q := resource.MustParse("1")
		c.change(&q)
		assert.Equal(t, c.want, colonIfTooLarge(q), name)
	}
	assert.Empty(t, colonIfTooLarge(resource.Quantity{}))
}

func TestParseQuantity_ExponentFirst(t *testing.T) {
	_, err := ParseQuantity("e100")
	assert.ErrorIs(t, err, ErrQuantity)
	_, err = ParseQuantity("1e+0010")
	assert.NoError(t, err)
}

// A quantity that is raised to an equal one keeps its form.
func TestRaiseToMax_EqualQuantity(t *testing.T) {
	total := v1.ResourceList{"cpu": resource.MustParse("1000m"), "memory": resource.MustParse("1Ki")}
	want := total["cpu"]
	raiseToLarger(total, v1.ResourceList{"cpu": *resource.NewQuantity(1, resource.BinarySI), "memory": resource.MustParse("2Ki"), "new": resource.MustParse("3")})
	got := total["cpu"]
	assert.Equal(t, want.Format, got.Format)
	assert.True(t, resource.MustParse("2Ki").Equal(total["memory"]))
	assert.True(t, resource.MustParse("3").Equal(total["new"]))
}
