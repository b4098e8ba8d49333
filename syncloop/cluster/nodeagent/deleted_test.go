package nodeagent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/executor"
)

// TestAgent_DeletedForEver: a node whose object is deleted as soon as it is made, as by a
// controller that does not know its machine, is not made without a pause.
func TestAgent_DeletedForEver(t *testing.T) {
	h := simulate(t)
	h.start()
	deleter := h.NewProcess()
	deleter.Go(func() {
		for executor.Over(deleter.Clock()).Sleep(context.Background(), 10*time.Millisecond) == nil {
			_ = h.server.Admin().DeleteNode("n1")
		}
	})
	t.Cleanup(deleter.Crash)
	h.after(time.Minute)
	made := strings.Count(h.after(5*time.Minute), "create nodes n1")
	assert.Greater(t, made, 10)
	assert.Less(t, made, 60)
}
