package patch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

func TestKind_String(t *testing.T) {
	var all []string
	for k := range patch.Refused + 1 {
		all = append(all, k.String())
	}
	assert.Equal(t, []string{"Done", "Gone", "OtherUID", "Conflict", "Retry", "WaitAll", "Refused"}, all)
	assert.NotContains(t, all, (patch.Refused + 1).String())
	assert.NotContains(t, all, (patch.Done - 1).String())
}
