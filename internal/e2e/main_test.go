//go:build linux

package e2e_test

import (
	"flag"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/internal/e2e"
)

var (
	all  = flag.Bool("e2e", false, "run everything: some minutes for each family of containerd")
	full = flag.Bool("full", false, "with -e2e: no smaller numbers for the sake of time")
)

// together is how many stories run at once. They wait most of the time.
const together = "24"

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", together) // There is such a flag.
	dir, err := os.MkdirTemp("", "e2e-agent-")
	if err != nil {
		panic(err)
	}
	agent.dir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString("goleak: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// agent is the agent of this working tree. The first test that needs it builds it.
var agent struct {
	sync.Mutex
	dir, program string
}

// buildAgent returns the path of the agent.
func buildAgent(t *testing.T) string {
	t.Helper()
	agent.Lock()
	defer agent.Unlock()
	if agent.program == "" {
		agent.program = e2e.BuildAgent(t, agent.dir)
	}
	return agent.program
}

// runOnFamilies runs a test on every family of containerd. Each one has its own agent.
func runOnFamilies(t *testing.T, test func(t *testing.T, c *e2e.Containerd, a *e2e.Agent), flags ...string) {
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			test(t, c, e2e.StartAgent(t, c, buildAgent(t), flags...))
		})
	}
}

// skipUnlessLong skips a test that takes long, unless -e2e is set.
func skipUnlessLong(t *testing.T) {
	if !*all {
		t.Skip("takes long: go test ./internal/e2e -e2e")
	}
}
