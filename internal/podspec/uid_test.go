package podspec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Names that leave the directory, or that the packages use themselves, are invalid UIDs.
func TestCheckUID(t *testing.T) {
	for _, uid := range []types.UID{
		"a", "9", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "a.b_c-d", "A", "a..", types.UID(strings.Repeat("x", 128)),
	} {
		assert.NoError(t, podspec.CheckUID(uid), uid)
		assert.True(t, podspec.IsValidUID(uid), uid)
	}
	for _, uid := range []types.UID{
		"", ".", "..", ".trash", "-a", "_a", "a/b", `a\b`, "a b", "a\x00", "ä", "a:b", "a~b", types.UID(strings.Repeat("x", 129)),
	} {
		assert.ErrorIs(t, podspec.CheckUID(uid), podspec.ErrInvalidUID, "%q", uid)
	}
	assert.EqualError(t, podspec.CheckUID(".x"),
		`invalid UID ".x": expected 1 to 128 letters, digits, '-', '_' and '.', beginning with a letter or digit`)
}

// Each of the 256 bytes, as the first and as a later byte.
func TestIsValidUID_EveryByte(t *testing.T) {
	const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for b := range 256 {
		c := string([]byte{byte(b)})
		assert.Equal(t, strings.Contains(alphanumeric, c), podspec.IsValidUID(types.UID(c)), "%q", c)
		assert.Equal(t, strings.Contains(alphanumeric+"-_.", c), podspec.IsValidUID(types.UID("a"+c)), "%q", c)
	}
}
