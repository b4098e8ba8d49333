package diff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// No status at all says what one without records says, and no more.
func TestEqual_NoStatus(t *testing.T) {
	none := &runtime.PodStatus{UID: "a"}
	sandboxed := &runtime.PodStatus{UID: "a", Sandboxes: make([]runtime.SandboxStatus, 1)}
	contained := &runtime.PodStatus{UID: "a", Containers: make([]runtime.ContainerStatus, 1)}
	for _, tc := range []struct {
		a, b *runtime.PodStatus
		want bool
	}{{nil, nil, true}, {nil, none, true}, {nil, sandboxed, false}, {nil, contained, false}} {
		assert.Equal(t, tc.want, diff.Equal(tc.a, tc.b))
		assert.Equal(t, tc.want, diff.Equal(tc.b, tc.a))
		assert.Equal(t, tc.want, diff.Empty(tc.b), "it shows a record, or none")
	}
}
