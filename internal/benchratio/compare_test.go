package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const output = `goos: linux
pkg: github.com/podkeel/podkeel/podworkers
BenchmarkDispatch-2   	  461930	      1000 ns/op	     208 B/op	       1 allocs/op
BenchmarkDispatch-2   	  461930	      1400 ns/op	     208 B/op	       3 allocs/op
BenchmarkSpawn-2      	 2355867	       250.0 ns/op	       0 B/op	       0 allocs/op
BenchmarkLifecycle-2  	     208	   2500000 ns/op	      2500 ns/pod	  865345 B/op	    6091 allocs/op
PASS
pkg: github.com/podkeel/podkeel/pleg
BenchmarkRelistUnchanged/n=110-2 	  1000	      5000 ns/op
BenchmarkRelistUnchanged/n=110   	  1000	      4000 ns/op
`

func compareOutput(t *testing.T, recorded string) ([]string, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "recorded.txt")
	require.NoError(t, os.WriteFile(name, []byte(recorded), 0o600))
	in, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	_, err = in.WriteString(output)
	require.NoError(t, err)
	_, err = in.Seek(0, 0)
	require.NoError(t, err)
	stdin := os.Stdin
	defer func() { os.Stdin = stdin; _ = in.Close() }()
	os.Stdin = in
	return compareOrRecord(name, false)
}

// TestRun: up to 1.5 times the recorded figure passes. A larger figure, or a missing benchmark, fails. The smallest
// value of several repetitions counts.
func TestRun(t *testing.T) {
	faults, err := compareOutput(t, `# ratios
ratio podworkers.Dispatch podworkers.Spawn 2.7
ratio podworkers.Dispatch podworkers.Spawn 2.6
ratio podworkers.Lifecycle podworkers.Spawn 10000
allocs podworkers.Dispatch 1
allocs podworkers.Dispatch 0.6
allocs podworkers.Spawn 0
allocs pleg.RelistUnchanged/n=110 0
ratio pleg.RelistUnchanged/n=110 podworkers.Spawn 16
ratio podworkers.Gone podworkers.Spawn 1
`)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"ratio podworkers.Dispatch podworkers.Spawn is 4.00, more than 1.5 times the recorded 2.60",
		"allocs podworkers.Dispatch is 1.00, more than 1.5 times the recorded 0.60",
		"allocs pleg.RelistUnchanged/n=110: the run has no pleg.RelistUnchanged/n=110",
		"ratio podworkers.Gone podworkers.Spawn: the run has no podworkers.Gone",
	}, faults)
}

func TestRun_BadFile(t *testing.T) {
	for text, fault := range map[string]string{
		"":                      "no figure is recorded",
		"# none\n":              "no figure is recorded",
		"ratio a b":             `line 1: "ratio a b" is neither "ratio A B VALUE" nor "allocs A VALUE"`,
		"# x\n\ntime a 1":       `line 3: "time a 1" is neither "ratio A B VALUE" nor "allocs A VALUE"`,
		"allocs a much":         `line 1: "much" is no value`,
		"allocs a 1\nratio a b": `line 2: "ratio a b" is neither "ratio A B VALUE" nor "allocs A VALUE"`,
	} {
		_, err := compareOutput(t, text)
		assert.ErrorContains(t, err, fault, "%q", text)
	}
}

// TestUpdate: a new recording keeps comments and order.
func TestUpdate(t *testing.T) {
	r, err := parseRecordedFigures("# first\n\nratio podworkers.Dispatch podworkers.Spawn 9\nallocs podworkers.Lifecycle 7\n# last\n")
	require.NoError(t, err)
	results, err := parseBenchmarkOutput(strings.NewReader(output))
	require.NoError(t, err)
	text, err := r.updatedText(results)
	require.NoError(t, err)
	assert.Equal(t, "# first\n\nratio podworkers.Dispatch podworkers.Spawn 4.00\nallocs podworkers.Lifecycle 6091.00\n# last\n", text)
	_, err = r.updatedText(nil)
	assert.EqualError(t, err, "ratio podworkers.Dispatch podworkers.Spawn: the run has no podworkers.Dispatch")
}
