// Package words does something.
package words

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// Streamer is made of words only.
type Streamer interface {
	// Stream gives what is received.
	Stream(ctx context.Context, w io.Writer) (<-chan time.Time, error)
}

func run(in chan int) time.Time {
	go run(in)
	time.Sleep(1)
	return <-nil
}
