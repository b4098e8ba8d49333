package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
)

// Updates that were deferred to the same time are sent in the order in which they were deferred.
func TestTake_OrderOfOneTime(t *testing.T) {
	box := outbox.New[string]()
	var want, got []types.UID
	for i := range 20 {
		uid := types.UID(fmt.Sprint("p", i))
		want = append(want, uid)
		box.QueueResend(uid, "v", epoch.Add(time.Second))
	}
	for uid, _, ok := box.TakeNext(epoch.Add(time.Second)); ok; uid, _, ok = box.TakeNext(epoch.Add(time.Second)) {
		got = append(got, uid)
	}
	assert.Equal(t, want, got)
}
