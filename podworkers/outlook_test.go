package podworkers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
)

// TestOutlook: the outlook of a pod at each step of its worker.
func TestOutlook(t *testing.T) {
	node := newSimulation(t, Config{MaxSyncs: 1})
	outlook := func(uid types.UID) string {
		o := node.Workers.Outlook(uid)
		if o.NextAt.IsZero() {
			return o.Step.String()
		}
		return fmt.Sprint(o.Step, ", next in ", o.NextAt.Sub(node.Now()))
	}
	assert.Equal(t, "idle", outlook("nobody"))
	node.Cache.Hang("blind")
	node.Syncer.Script("busy", syncPod, Reply{Takes: time.Second})
	node.Syncer.Script("late", syncPod, Reply{Err: podworkers.RetryAfter(errors.New("not yet"), node.Now().Add(31*time.Second))})
	node.Create(Pod("blind"))
	node.RunUntilIdle()
	node.Create(Pod("busy"))
	node.RunUntilIdle()
	node.Create(Pod("late"))
	node.RunUntilIdle()
	assert.Equal(t, "awaiting a status", outlook("blind"))
	assert.Equal(t, "working", outlook("busy"))
	assert.Equal(t, "awaiting a slot", outlook("late"))
	node.Advance(time.Second)
	assert.Equal(t, "idle, next in 1m0s", outlook("busy"))
	assert.Equal(t, "idle, next in 30s", outlook("late"))
}
