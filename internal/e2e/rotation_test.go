//go:build linux

package e2e_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/e2e"
)

// F95: a container that prints fast has so many files of logs, in which every line is
// once and in order, over those that were rotated and compressed, from the oldest that
// is left on; and who follows it sees each line once. All of it goes with the pod.
func TestRotation_F95(t *testing.T) {
	skipUnlessLong(t)
	const files = 5
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		s.writePod("printer", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "exit 0" TERM; for i in $(seq 1 350); do for j in $(seq 1 200); do echo $i.$j; done; sleep 0.1; done; echo over; sleep 100000 & wait']
`)
		uid := string(s.awaitReady("printer").UID)
		followed, ended := "", make(chan error, 1)
		go func() {
			var err error
			followed, err = s.agent.Verb("logs", "--follow", "printer-"+e2e.NodeName)
			ended <- err
		}()
		dir := filepath.Join(s.agent.State, "logs", "default_printer-"+e2e.NodeName+"_"+uid, "web")
		most := 0
		s.waitFor("all is printed", 3*soon, func() bool {
			names, _ := os.ReadDir(dir)
			most = max(most, len(names))
			last, err := os.ReadFile(filepath.Join(dir, "0.log"))
			return err == nil && strings.HasSuffix(string(last), " stdout F over\n")
		})
		assert.LessOrEqual(t, most, files+1, "and the one that is being compressed")
		var want strings.Builder
		for i := range 350 {
			for j := range 200 {
				fmt.Fprintf(&want, "%d.%d\n", i+1, j+1)
			}
		}
		want.WriteString("over\n")
		rotated, got := readRotatedLogs(t, dir)
		t.Logf("%d bytes in %d rotated files", len(got), rotated)
		assert.GreaterOrEqual(t, rotated, 2)
		assert.Less(t, rotated, files)
		whole := want.String()
		if rotated == files-1 { // The oldest may have gone.
			require.Greater(t, len(got), 64<<10*(files-1))
			whole = whole[max(0, len(whole)-len(got)):]
		}
		requireSameText(t, whole, got, "the files")

		s.removePod("printer")
		assert.NoError(t, <-ended)
		requireSameText(t, want.String(), followed, "who follows")
		s.waitFor("the logs have gone", soon, func() bool {
			_, err := os.Stat(filepath.Dir(dir))
			return os.IsNotExist(err)
		})
	}, "--log-max-size", "64Ki", "--log-max-files", fmt.Sprint(files))
}

// readRotatedLogs returns the number of rotated files, and the text of these files and of the log, in order.
func readRotatedLogs(t *testing.T, dir string) (rotated int, text string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if e.Name() != "0.log" {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	var out strings.Builder
	for i, name := range append(names, "0.log") {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		var from io.Reader = f
		assert.Equal(t, i < len(names)-1, strings.HasSuffix(name, ".gz"), "all but the newest are compressed: %s", name)
		if strings.HasSuffix(name, ".gz") {
			from, err = gzip.NewReader(f)
			require.NoError(t, err)
		}
		b, err := io.ReadAll(from)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		for line := range strings.Lines(string(b)) {
			_, rest, _ := strings.Cut(line, " stdout ")
			tag, said, _ := strings.Cut(rest, " ")
			if tag == "P" { // A rotation may fall into a line.
				said = strings.TrimSuffix(said, "\n")
			}
			out.WriteString(said)
		}
	}
	return len(names), out.String()
}

// requireSameText compares two long texts. A failure shows the first difference.
func requireSameText(t *testing.T, want, got, what string) {
	t.Helper()
	if want == got {
		return
	}
	n := 0
	for n < min(len(want), len(got)) && want[n] == got[n] {
		n++
	}
	assert.Fail(t, what, "%d bytes instead of %d; they part after %d: %q instead of %q", len(got), len(want), n,
		got[n:min(len(got), n+40)], want[n:min(len(want), n+40)])
}
