//go:build !linux

package cri

// cgroupVersion is that of current Linux systems, on which the containers of other
// systems run.
func cgroupVersion(string) int { return 2 }
