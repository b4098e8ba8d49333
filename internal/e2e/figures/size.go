//go:build linux

package main

import "os"

// measureProgramSize adds a row with the size of the agent's program file to the table.
func (r *run) measureProgramSize() {
	info, err := os.Stat(r.harness.program)
	r.harness.failOnError(err)
	r.table.addRow("stripped binary of the agent", "", formatMegabytes(info.Size()), "", "", true, loadAverage())
}
