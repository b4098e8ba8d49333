package podworkers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podworkerstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSimulation makes workers in a simulation and checks the Rules at the end of the test.
func newSimulation(t *testing.T, config podworkerstest.Config) *podworkerstest.Stepper {
	t.Helper()
	node := podworkerstest.NewStepper(config)
	t.Cleanup(func() {
		node.Close()
		assert.NoError(t, podworkerstest.Rules{Retry: config.Retry}.Check(node.Trace.Events()), node.Transcript())
	})
	return node
}

// requireTranscript compares the transcript since the last call with lines that may be indented.
func requireTranscript(t *testing.T, node *podworkerstest.Stepper, want string) {
	t.Helper()
	lines := strings.Split(strings.Trim(want, "\n\t "), "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	require.Equal(t, strings.Join(lines, "\n")+"\n", node.Transcript())
}

// countInTranscript returns how often a pod's transcript has a text.
func countInTranscript(node *podworkerstest.Stepper, what string) int {
	return strings.Count(node.Transcript(), what)
}

// uidsOf returns the pods whose calls of the syncer have begun, in order.
func uidsOf(node *podworkerstest.Stepper) (list []types.UID) {
	for _, e := range node.Trace.Events() {
		if e.What == podworkerstest.Begun {
			list = append(list, e.UID)
		}
	}
	return list
}
