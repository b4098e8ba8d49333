// Package core is anything but pure.
package core

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"module.test/internal/executor"
)

type state struct {
	since time.Time // A time is a value.
	grace time.Duration
	done  <-chan struct{}
}

func impure(s state, c chan int) {
	go impure(s, c)
	c <- 1
	<-c
	select {}
	close(c)
	_ = time.Now()
	_ = time.Since(s.since)
	fmt.Println("hello")
	_ = fmt.Sprint("this is computation")
	_, _ = netip.ParseAddr("127.0.0.1") // So is this,
	_ = io.EOF                          // and this is a value.
	_ = io.Discard
	_ = net.IPv4len
	_ = fs.ErrExist
}
