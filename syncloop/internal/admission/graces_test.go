package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// TestGraces runs testdata. Each block is a story, "story [grace=D]", a command a
// line:
//
//	heard SOURCE           it is complete
//	after D                time passes
//	pod [SOURCE]...        until when is a pod of these left alone?
func TestGraces(t *testing.T) {
	datadriven.RunTest(t, "testdata/graces.txt", func(t *testing.T, d *datadriven.TestData) string {
		grace := "30s"
		d.MaybeScanArgs(t, "grace", &grace)
		length, err := time.ParseDuration(grace)
		require.NoError(t, err)
		graces, began := admission.NewGraces(length), time.Unix(0, 0)
		now := began
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(line)
			fmt.Fprintln(&b, strings.Join(words, " "))
			switch words[0] {
			case "heard":
				graces.Heard(words[1], now)
			case "after":
				length, err := time.ParseDuration(words[1])
				require.NoError(t, err)
				now = now.Add(length)
			case "pod":
				until, known := graces.Until(words[1:])
				switch {
				case !known:
					fmt.Fprintln(&b, "  nothing is concluded yet")
				case now.Before(until):
					fmt.Fprintln(&b, "  left alone until", until.Sub(began))
				default:
					fmt.Fprintln(&b, "  ended")
				}
			default:
				t.Fatalf("unknown command %q", words[0])
			}
		}
		return b.String()
	})
}

// TestClaimed: by a full name, or a host port, of another pod.
func TestClaimed(t *testing.T) {
	item := func(uid, name string, port int32) admission.Item {
		i := admission.Item{UID: types.UID(uid), Namespace: "ns", Name: name}
		if port > 0 {
			i.Ports = []podspec.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: port}}
		}
		return i
	}
	for name, test := range map[string]struct {
		other   admission.Item
		claimed bool
	}{
		"another":       {item("b", "other", 81), false},
		"its name":      {item("b", "web", 0), true},
		"its port":      {item("b", "other", 80), true},
		"the pod again": {item("a", "web", 80), false},
	} {
		var staying admission.Sums
		staying.Put(test.other)
		assert.Equal(t, test.claimed, admission.Claimed(item("a", "web", 80), &staying), name)
	}
}
