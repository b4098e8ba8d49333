package nodetest_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podworkers/prober/check"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// bad gives a node an invalid pod beside a valid one, and prints the result: the
// error of Apply, and, if there is one, what happens if the pod comes from a source
// that does not validate. "bad [for=DURATION] [connect]" lets the probes connect to
// ports on which no process listens, and the hooks send requests. In every case the
// other pod keeps running and the invalid one can be removed.
func bad(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	p := &v1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(d.Input), p))
	p.Name, p.Namespace, p.UID = "bad", "default", "bad"
	length := "1m"
	d.MaybeScanArgs(t, "for", &length)
	duration, err := time.ParseDuration(length)
	require.NoError(t, err)
	n := neighbours(t, d.HasArg("connect"))
	said := ""
	if err := n.b.Node().Apply(p); err != nil {
		require.ErrorIs(t, err, source.ErrInvalid)
		require.NoError(t, n.careless.Apply(p))
		said = "refused: " + err.Error() + "\n"
	} else {
		n.b.Apply(p)
	}
	n.b.Run(duration)
	return said + n.end(t, p.UID)
}

// neighbourhood is a node with a pod that is well and a source that hands over
// whatever the test sets.
type neighbourhood struct {
	b        *nodetest.Simulation
	careless *source.Handle
}

func neighbours(t *testing.T, connect bool) neighbourhood {
	t.Helper()
	careless := source.NewHandle()
	config := nodetest.Config{Seed: 1, Node: node.Config{Sources: map[string]source.Source{"careless": careless}}}
	if connect {
		refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
		config.Node.Check, config.Node.HTTP = check.New(check.Config{DialContext: refuse}), deaf{}
		config.Wrap = func(inner runtime.Runtime, _ clock.Clock) runtime.Runtime { return struct{ runtime.Runtime }{inner} }
	}
	b := nodetest.New(t, config)
	b.Apply(pod("well", []string{"serve"}))
	return neighbourhood{b, careless}
}

// end tells what has become of the bad pod, and wants it no more.
func (n neighbourhood) end(t *testing.T, uid types.UID) string {
	t.Helper()
	_, rest, _ := strings.Cut(n.b.Transcript(), "pod default/bad\n")
	result, well, _ := strings.Cut(rest, "pod default/well\n")
	assert.Equal(t, undisturbed, well, "the other pod keeps running")
	n.careless.Delete(uid)
	n.b.Delete(uid)
	n.b.Run(time.Hour)
	for _, left := range n.b.Machine().Look() {
		assert.Equal(t, "well", left.Name, "the bad pod can be removed")
	}
	n.b.Stop()
	return result
}

// deaf is an address on which no process listens.
type deaf struct{}

func (deaf) Get(context.Context, string, http.Header) error {
	return errors.New("connection refused")
}

// undisturbed is the transcript of the other pod.
const undisturbed = `        0s  RunSandbox attempt=0
        0s  event Pulling: Pulling image "well:1"
        0s  PullImage well:1
        0s  event Pulled: Successfully pulled image "well:1" in 0s (0s including waiting). Image size: 1048576 bytes.
        0s  CreateContainer c0 attempt=0
        0s  event Created: Container c0 created
        0s  StartContainer c0
        0s  event Started: Container c0 started
        0s  | 1/1 Running restarts=0
`
