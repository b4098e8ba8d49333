//go:build linux

package main

import "os"

// measureSize measures the size of the agent's program file.
func (r *run) measureSize() {
	info, err := os.Stat(r.harness.program)
	r.harness.check(err)
	r.table.addRow("stripped binary of the agent", "", mb(info.Size()), "", "", true, loadAverage())
}
