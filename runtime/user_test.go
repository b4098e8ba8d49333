package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/runtime"
)

// TestLinuxContainerUser_Equal: the order of the groups has no meaning, and each group counts as often as it is there.
func TestLinuxContainerUser_Equal(t *testing.T) {
	user := func(uid, gid int64, groups ...int64) *runtime.LinuxContainerUser {
		return &runtime.LinuxContainerUser{UID: uid, GID: gid, SupplementalGroups: groups}
	}
	for name, c := range map[string]struct {
		a, b *runtime.LinuxContainerUser
		want bool
	}{
		"none":            {nil, nil, true},
		"one is none":     {user(0, 0), nil, false},
		"root":            {user(0, 0), user(0, 0, []int64{}...), true},
		"same":            {user(1, 2, 3, 4), user(1, 2, 3, 4), true},
		"other order":     {user(1, 2, 3, 4, 5), user(1, 2, 5, 3, 4), true},
		"another user":    {user(1, 2, 3), user(2, 2, 3), false},
		"another group":   {user(1, 2, 3), user(1, 3, 3), false},
		"more groups":     {user(1, 2, 3), user(1, 2, 3, 4), false},
		"other groups":    {user(1, 2, 3, 4), user(1, 2, 3, 5), false},
		"other repeating": {user(1, 2, 3, 3, 4), user(1, 2, 3, 4, 4), false},
	} {
		assert.Equal(t, c.want, c.a.Equal(c.b), name)
		assert.Equal(t, c.want, c.b.Equal(c.a), name)
	}
	unsorted := user(1, 2, 4, 3)
	assert.True(t, unsorted.Equal(user(1, 2, 3, 4)))
	assert.Equal(t, []int64{4, 3}, unsorted.SupplementalGroups, "Equal changes nothing")
}
