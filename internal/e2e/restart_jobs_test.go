//go:build linux

package e2e_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// cut is how many seconds there may be between a run and the crash that made the
// runtime forget it: no start takes longer.
const cut = 5

// run is one run of a job.
type run struct {
	at    float64 // by the machine's clock, in seconds
	again bool    // in the same container as one before
}

// checkJobs checks that every job has run once. It excuses two cases. First: the runtime died between the start of a process
// and the write of its status, reports the container as created (see runtime/cri), and the same container ran again. A
// container that the runtime reports as started never runs again. Second: the machine was switched off. Two containers
// that ran are no excuse.
func (r *restarts) checkJobs() {
	r.Helper()
	files, err := os.ReadDir(r.counts)
	require.NoError(r, err)
	require.NotEmpty(r, files)
	for _, file := range files {
		runs := r.readRuns(file.Name())
		for i := 1; i < len(runs); i++ {
			before, forgotten := runs[i-1].at, runs[i].again
			excused := isNear(before, r.off) || forgotten && isNear(before, r.died)
			r.Logf("job %s has run at %.2f and at %.2f, in one container: %t, excused: %t", file.Name(), before, runs[i].at, forgotten, excused)
			if !excused {
				r.Errorf("job %s has run twice; containerd died at %v, the machine went off at %v", file.Name(), r.died, r.off)
			}
		}
	}
}

// readRuns returns the runs of a job in the order of their starts.
func (r *restarts) readRuns(job string) (runs []run) {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.counts, job))
	require.NoError(r, err)
	for line := range strings.Lines(string(text)) {
		at, again, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, err := strconv.ParseFloat(at, 64)
		require.NoError(r, err)
		runs = append(runs, run{seconds, again == "again"})
	}
	return runs
}

func isNear(at float64, crashes []float64) bool {
	return slices.ContainsFunc(crashes, func(c float64) bool { return math.Abs(c-at) < cut })
}

// readUptime returns the uptime of the machine. Jobs record the same clock.
func (r *restarts) readUptime() float64 {
	text, err := os.ReadFile("/proc/uptime")
	require.NoError(r, err)
	at, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	require.NoError(r, err)
	return at
}
