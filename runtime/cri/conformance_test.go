package cri_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/runtime/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The suite over gRPC, in virtual time: only what connects the two is real.
func TestConformance_InProcess(t *testing.T) {
	runtimetest.RunInBubble(t, func(t *testing.T) runtimetest.Harness {
		return runtimetest.Harness{
			Runtime: newFake(t).client("me"), Image: "busybox", MissingImage: "nowhere.invalid/none", Slack: time.Second,
			LogDir: t.TempDir(),
		}
	})
}
