//go:build linux

package main

import "os"

// takeSize weighs the program.
func (r *run) takeSize() {
	info, err := os.Stat(r.harness.program)
	r.harness.check(err)
	r.table.row("stripped binary of the agent", "", mb(info.Size()), "", "", true, load())
}
