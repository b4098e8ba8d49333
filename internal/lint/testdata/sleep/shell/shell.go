// Package shell is held by another rule.
package shell

import "time"

func wait() { time.Sleep(time.Second) }
