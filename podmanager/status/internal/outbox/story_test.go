package outbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestStories runs the texts in testdata/box. Each is the story of one box; values
// are words.
//
//	put a v1 [urgent]
//	later a v1 5s [urgent]
//	take [n]            the updates that are sent now, at most n
//	sent a
//	off a v1 5s [3s]    a newer value may go after three seconds
//	hold a v1 5s
//	again a v1 5s
//	wake                all that was put off after a failure is due
//	wake held           all that waits for news is due
//	at 3s               the time is that much after the beginning
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/box", func(t *testing.T, path string) {
		box, now := outbox.New[string](), epoch
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				f := strings.Fields(line)
				switch f[0] {
				case "put":
					box.Put(types.UID(f[1]), f[2], len(f) > 3)
				case "later":
					box.PutLater(types.UID(f[1]), f[2], len(f) > 4, epoch.Add(length(t, f[3])))
				case "take":
					for range 1 + 99*(2-min(len(f), 2)) {
						uid, v, ok := box.TakeNext(now)
						if !ok {
							break
						}
						fmt.Fprintf(&out, "%s %s\n", uid, v)
					}
				case "sent":
					box.FinishSending(types.UID(f[1]))
				case "off":
					box.RetryAt(types.UID(f[1]), f[2], epoch.Add(length(t, f[3])), epoch.Add(length(t, f[len(f)-1])))
				case "again":
					box.QueueResend(types.UID(f[1]), f[2], epoch.Add(length(t, f[3])))
				case "wake":
					if len(f) > 1 {
						box.WakeHeld(now)
					} else {
						box.WakeFailed(now)
					}
				case "hold":
					box.HoldUntil(types.UID(f[1]), f[2], epoch.Add(length(t, f[3])))
				case "at":
					now = epoch.Add(length(t, f[1]))
				default:
					t.Fatalf("%s?", line)
				}
			}
			fmt.Fprintf(&out, "left %s", box.PendingUIDs())
			if at, ok := box.NextDue(); ok {
				fmt.Fprintf(&out, ", next at %s", at.Sub(epoch))
			}
			for _, uid := range []types.UID{"a", "b"} {
				require.Equal(t, slices.Contains(box.PendingUIDs(), uid), box.Has(uid))
			}
			return out.String() + "\n"
		})
	})
}

func length(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}
