package objects

import (
	"context"
	"errors"

	nodev1 "k8s.io/api/node/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

// RuntimeClasses follows the runtime classes of a cluster. Make one with NewRuntimeClasses. Its methods are safe for
// concurrent use.
type RuntimeClasses struct {
	follower *feed.Follower[*nodev1.RuntimeClass]
}

// NewRuntimeClasses returns RuntimeClasses that follow nothing yet. The goroutine of Run calls changed after each
// change of a class. changed must not block, and may be nil. Config.Changed is not called. The error names a fault of
// the configuration.
func NewRuntimeClasses(cfg Config, changed func()) (*RuntimeClasses, error) {
	if cfg.Objects == nil {
		return nil, errors.New("objects: Config.Objects is nil")
	}
	follower, err := feed.New(feed.Config[*nodev1.RuntimeClass]{
		Feed: cfg.Objects.RuntimeClasses(), Name: "runtimeclasses", Contact: cfg.Contact, Clock: cfg.Clock, Jitter: cfg.Jitter, Log: cfg.Log,
		Changed: changed,
	})
	return &RuntimeClasses{follower}, err
}

// Run follows the classes with one watch until ctx is done, and then returns nil. A concurrent second call returns
// feed.ErrAlreadyRunning.
func (c *RuntimeClasses) Run(ctx context.Context) error { return c.follower.Run(ctx) }

// Handler returns the runtime handler of a class. known is false if the server has not shown the class. It never
// blocks.
func (c *RuntimeClasses) Handler(class string) (handler string, known bool) {
	if found, ok := c.follower.Get("", class); ok {
		return found.Handler, true
	}
	return "", false
}
