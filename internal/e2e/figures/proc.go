//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc, which is the same on all machines.
const tick = 10 * time.Millisecond

// processorTime returns the processor time that a process has used, in user mode and in the kernel.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), ") ") // The name before it may be anything.
	words := strings.Fields(after)
	if len(words) < 13 {
		return 0, fmt.Errorf("figures: /proc/%d/stat has only %d fields", pid, len(words))
	}
	var ticks time.Duration
	for _, word := range words[11:13] { // in user mode and in the kernel
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += time.Duration(n)
	}
	return ticks * tick, nil
}

// residentMemory returns the resident memory of a process in bytes, and the part of it that is anonymous (not
// backed by a file).
func residentMemory(pid int) (all, anonymous int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(words[1], 10, 64) // Only lines with a number are used below.
		switch words[0] {
		case "VmRSS:":
			all = n << 10
		case "RssAnon:":
			anonymous = n << 10
		}
	}
	return all, anonymous, nil
}

// loadAverage returns the machine's load average over the last minute, or "?" if it cannot be read.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
