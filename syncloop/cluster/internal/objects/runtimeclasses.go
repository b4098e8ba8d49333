package objects

import (
	"context"
	"errors"

	nodev1 "k8s.io/api/node/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

// RuntimeClasses has the runtime classes of a cluster. Make one with NewRuntimeClasses. Its
// methods are safe for concurrent use.
type RuntimeClasses struct {
	follower *feed.Follower[*nodev1.RuntimeClass]
}

// NewRuntimeClasses returns RuntimeClasses that follow nothing yet. changed is called when a class
// has come, gone or changed, by the goroutine of Run; it must not block, and may be nil.
// Config.Changed is not called. The error says what is wrong with the configuration.
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

// Run follows the classes by one watch until ctx ends, and then returns nil. A call beside
// another one returns feed.ErrAlreadyRunning.
func (c *RuntimeClasses) Run(ctx context.Context) error { return c.follower.Run(ctx) }

// Handler returns the runtime handler of a class; known is false for a class that the server has
// not shown. It never blocks.
func (c *RuntimeClasses) Handler(class string) (handler string, known bool) {
	if found, ok := c.follower.Get("", class); ok {
		return found.Handler, true
	}
	return "", false
}
