package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/node"
)

// TestUnsafeSysctls: the last value of the flag counts, a value that is no list of names changes nothing, and the node
// gets one admission handler.
func TestUnsafeSysctls(t *testing.T) {
	var s UnsafeSysctls
	require.NoError(t, s.Set("net.core.somaxconn,kernel.msg*"))
	assert.Equal(t, UnsafeSysctls{"net.core.somaxconn", "kernel.msg*"}, s)
	require.Error(t, s.Set("net.core.somaxconn,"))
	assert.Equal(t, UnsafeSysctls{"net.core.somaxconn", "kernel.msg*"}, s)
	require.NoError(t, s.Set(""))
	assert.Empty(t, s)
	c := &node.SchedulingConfig{}
	require.NoError(t, s.Configure(c))
	assert.Len(t, c.Admit, 1)
}
