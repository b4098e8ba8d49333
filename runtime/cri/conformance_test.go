package cri_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The suite over gRPC, in virtual time: only what connects the two is real.
func TestConformance_InProcess(t *testing.T) {
	runtimetest.RunInBubble(t, func(t *testing.T) runtimetest.Harness {
		f := newFake(t)
		return runtimetest.Harness{
			Runtime: f.client("me"), Image: "busybox", MissingImage: "nowhere.invalid/none", Slack: time.Second,
			LogDir: t.TempDir(),
			Skip: map[string]string{ // The runtime behind the server is one in memory.
				"container/env": "its containers run nothing", "container/working-dir": "its containers run nothing",
				"stop/signal": "its containers run nothing", "stop/descendants": "its containers run nothing",
				"log/file": "it does not say what went to which stream",
			},
			Reopen: func(meanwhile func()) (runtime.Runtime, error) {
				meanwhile()
				return f.client("me"), nil
			},
		}
	})
}
