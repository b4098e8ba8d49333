package node_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/syncloop/node"
)

// TestHealth_String: the text has one line, whatever is wrong.
func TestHealth_String(t *testing.T) {
	two := errors.Join(errors.New("the loop is slow"), errors.New("Runtime.Exec panicked"))
	for want, h := range map[string]node.Health{
		"ready":                {},
		"ready, shutting down": {ShuttingDown: true},
		"not ready: no source": {Waiting: errors.New("no source")},
		"ready, unhealthy: the loop is slow; Runtime.Exec panicked, stuck: the loop is slow": {Err: two, Stuck: errors.New("the loop is slow")},
	} {
		assert.Equal(t, want, h.String())
	}
}
