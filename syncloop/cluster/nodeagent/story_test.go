package nodeagent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// TestStories runs the texts in testdata. Each text is the story of an agent and a server. The output has
// the time of each request, its response, and the events. Only the first renewal of the lease and the first watch are
// shown.
//
//	labels K=V...        what the agent registers with
//	start                the agent
//	crash                it
//	network up|down      of its runtime
//	delete|create|cordon the node's object, by hand
//	down|up              the server
//	compact              the server forgets its history, and ends all streams
//	fail VERB RESOURCE N the next requests are answered with 503
//	after 3s
func TestStories_ND4_ND6_ND9_ND24_ND34_EB5_KB21(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		h := simulate(t)
		begin := h.Now()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			for line := range strings.Lines(d.Input) {
				h.line(strings.Fields(line))
			}
			var out strings.Builder
			for _, r := range h.server.TakeRequests() {
				if r.Verb != "watch" && (r.Verb != "update" || r.Code != 200) {
					fmt.Fprintf(&out, "%s %s\n", r.Time.Sub(begin), r)
				}
			}
			for _, e := range append(h.events, h.said...) {
				fmt.Fprintln(&out, e)
			}
			h.events, h.said = nil, nil
			return out.String()
		})
	})
}

func (h *harness) line(f []string) {
	admin := h.server.Admin()
	switch f[0] {
	case "labels":
		h.labels = map[string]string{}
		for _, label := range f[1:] {
			k, v, _ := strings.Cut(label, "=")
			h.labels[k] = v
		}
	case "start":
		h.start()
	case "crash":
		h.process.Crash()
	case "network":
		h.network = f[1] == "up"
	case "delete":
		require.NoError(h, admin.DeleteNode("n1"))
	case "create":
		_, err := admin.Create(h.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"of": "others"}}})
		require.NoError(h, err)
	case "cordon":
		require.NoError(h, admin.EditNode("n1", func(n *v1.Node) { n.Spec.Unschedulable = true }))
	case "down":
		h.server.Down()
	case "up":
		h.server.Up()
	case "compact":
		h.server.Compact()
		h.server.Break(nil)
	case "fail":
		var n int
		_, err := fmt.Sscan(f[3], &n)
		require.NoError(h, err)
		h.server.Inject(apiservertest.Fault{Verb: f[1], Resource: f[2], Times: n, Err: apierrors.NewServiceUnavailable("busy")})
	case "after":
		d, err := time.ParseDuration(f[1])
		require.NoError(h, err)
		h.RunUntil(h.Now().Add(d))
	default:
		h.Fatalf("%s?", f)
	}
}
