//go:build linux

package main

import "os"

// measureProgramSize adds a row with the size of the agent's program file to the table.
func (r *run) measureProgramSize() {
	info, err := os.Stat(r.harness.program)
	r.harness.check(err)
	r.table.addRow("stripped binary of the agent", "", mb(info.Size()), "", "", true, loadAverage())
}
