// Package shell has state of its own.
package shell

import (
	_ "embed"
	"errors"
	"io"
	"log"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
)

// ErrOne is a constant.
var ErrOne = errors.New("one")

var _ io.Reader = (*os.File)(nil)

var names = [...]string{"a", "b"}

var pattern = regexp.MustCompile("a")

//go:embed shell.go
var source string

var lazy = sync.OnceValue(func() int { return 1 })

var (
	count    int
	registry = map[string]int{}
	current  = names[0]
	mu       = sync.Mutex{}
	flag     = new(atomic.Bool)
	shared   = 1
	cache    = map[string]int{}
)

func init() { count++ }

func work() {
	registry["a"] = 1
	current = "b"
	delete(cache, "a")
	take(&shared)
	names := []string{"its own"}
	names[0] = "allowed"
	if names == nil {
		os.Exit(1)
	}
	log.Fatalf("no")
}

func take(*int) {}
