package environ

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestPlain_ANULByteAnywhere(t *testing.T) {
	for _, value := range []string{"\x00", "\x00a", "a\x00", "a\x00b"} {
		assert.ErrorIs(t, checkNoNUL(value), ErrInvalid, "%q", value)
	}
	assert.NoError(t, checkNoNUL(""))
	assert.NoError(t, checkNoNUL("a"))
}

func TestShown_Length(t *testing.T) {
	assert.Equal(t, strings.Repeat("x", 100), printableName(strings.Repeat("x", 100)))
	assert.Equal(t, strings.Repeat("x", 100)+"…", printableName(strings.Repeat("x", 101)))
	assert.Equal(t, "a b??", printableName("a b\x1f\x7f"))
}

func TestTellable(t *testing.T) {
	for name, want := range map[string]bool{
		"cpu": true, "memory": true, "ephemeral-storage": true, "hugepages-2Mi": true, "hugepages-": false, "hugepages": false, "example.com/gpu": false,
	} {
		assert.Equal(t, want, isReadableResource("limits", name), name)
		assert.Equal(t, want, isReadableResource("requests", name), name)
		assert.False(t, isReadableResource("usage", name), name)
	}
}

func TestDivided(t *testing.T) {
	for _, c := range []struct {
		amount, divisor, want string
		fine                  bool
	}{
		{"250m", "1m", "250", true}, {"250m", "1", "1", true}, {"250m", "0", "1", true}, {"1500m", "1", "2", true},
		{"9223372036854775", "1", "9223372036854775", true}, {"9223372036854775", "1", "9223372036854775", false},
		{"-5", "1", "0", true}, {"0", "1Mi", "0", false}, {"1025Ki", "1Mi", "2", false},
	} {
		got, err := divideRoundedUp(resource.MustParse(c.amount), resource.MustParse(c.divisor), c.fine)
		assert.NoError(t, err)
		assert.Equal(t, c.want, got, "%+v", c)
	}
	_, err := divideRoundedUp(resource.MustParse("1"), resource.MustParse("-1m"), true)
	assert.True(t, errors.Is(err, ErrInvalid))
}
