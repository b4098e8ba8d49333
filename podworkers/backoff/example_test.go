package backoff_test

import (
	"fmt"
	"time"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A container that exits right after each start.
func ExampleCrashLoop() {
	var rule backoff.CrashLoop
	var state backoff.State
	now := start
	for range 8 {
		wait := rule.Remaining(state, now, now)
		fmt.Print(wait.Seconds(), " ")
		now = now.Add(wait)
		state = rule.Next(state, now)
	}
	// Output: 0 10 20 40 80 160 300 300
}

func ExampleRetry_Delay() {
	var kubelet backoff.Retry
	fmt.Println(kubelet.Delay(backoff.Resync, start, time.Time{}, 0.5))
	fmt.Println(kubelet.Delay(backoff.RetryAt, start, start.Add(20*time.Second), 0))
	// Output:
	// 1m15s
	// 20s
}

// A missing image is pulled again after 10, 20, 40 ... seconds. A node with a local registry uses
// shorter delays.
func ExampleImagePull() {
	for _, rule := range []backoff.ImagePull{{}, {Initial: time.Second, Max: 5 * time.Second}} {
		var state backoff.State
		now := start
		var delays []time.Duration
		for range 4 {
			state = rule.Failed(state, now)
			delays = append(delays, state.Delay)
			now = now.Add(rule.Remaining(state, now))
		}
		fmt.Println(delays)
	}
	// Output:
	// [10s 20s 40s 1m20s]
	// [1s 2s 4s 5s]
}

// A volume that cannot be mounted.
func ExampleExponential() {
	rule := backoff.Exponential{Initial: time.Second, Max: 4 * time.Second, Reset: time.Minute}
	var state backoff.State
	now := start
	for range 4 {
		state = rule.Failed(state, now)
		fmt.Print(state.Delay, " ")
		now = now.Add(rule.Remaining(state, now))
	}
	now = now.Add(2 * time.Minute) // It was successful for a while.
	fmt.Println(rule.Failed(state, now).Delay)
	// Output: 1s 2s 4s 4s 1s
}
