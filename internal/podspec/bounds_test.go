package podspec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gopkg.in/inf.v0"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"math/big"
)

// A quantity of the largest scale, and of the most bits, can be computed with; one more cannot.
func TestOutside_Sharp(t *testing.T) {
	dec := func(bits uint, scale inf.Scale) resource.Quantity {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return *resource.NewDecimalQuantity(*inf.NewDecBig(n, scale), resource.DecimalSI)
	}
	for _, c := range []struct {
		bits  uint
		scale inf.Scale
		want  string
	}{{1, 256, ""}, {1, -256, ""}, {1, 257, ":"}, {1, -257, ":"}, {1024, 0, ""}, {1025, 0, ":"}} {
		assert.Equal(t, c.want, outside(dec(c.bits, c.scale)), "%+v", c)
	}
	assert.Empty(t, outside(resource.Quantity{}))
}

func TestParseQuantity_ExponentFirst(t *testing.T) {
	_, err := ParseQuantity("e100")
	assert.ErrorIs(t, err, ErrQuantity)
	_, err = ParseQuantity("1e+0010")
	assert.NoError(t, err)
}

// A quantity that is raised to an equal one stays as it is written.
func TestRaise_KeepsWhatIsEqual(t *testing.T) {
	total := v1.ResourceList{"cpu": resource.MustParse("1000m"), "memory": resource.MustParse("1Ki")}
	want := total["cpu"]
	raise(total, v1.ResourceList{"cpu": *resource.NewQuantity(1, resource.BinarySI), "memory": resource.MustParse("2Ki"), "new": resource.MustParse("3")})
	got := total["cpu"]
	assert.Equal(t, want.Format, got.Format)
	assert.True(t, resource.MustParse("2Ki").Equal(total["memory"]))
	assert.True(t, resource.MustParse("3").Equal(total["new"]))
}
