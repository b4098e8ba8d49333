// Package kit is for tests and bound like them.
package kit

import "time"

func wait() { time.Sleep(time.Second) }
