package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
)

// Services follows the services of a cluster, for environment variables of containers. Make one with NewServices. Its
// methods are safe for concurrent use.
type Services struct {
	executor executor.Executor
	follower *feed.Follower[*v1.Service]
	synced   executor.Latch
}

// NewServices returns Services that follow nothing yet. Config.Changed is not called. The error names a fault of the
// configuration.
func NewServices(cfg Config) (*Services, error) {
	if cfg.Objects == nil {
		return nil, errors.New("objects: Config.Objects is nil")
	}
	s := &Services{executor: executor.Over(cfg.Clock)}
	s.synced = s.executor.NewLatch()
	var err error
	s.follower, err = feed.New(feed.Config[*v1.Service]{
		Feed: cfg.Objects.Services(), Name: "services", Contact: cfg.Contact, Clock: cfg.Clock, Jitter: cfg.Jitter, Log: cfg.Log,
		Changed: s.synced.Open,
	})
	return s, err
}

// Run follows the services with one watch until ctx is done, and then returns nil. A concurrent second call returns
// feed.ErrAlreadyRunning.
func (s *Services) Run(ctx context.Context) error { return s.follower.Run(ctx) }

// Services implements podsync.Services. It waits for the first complete state, at most FirstRead and until ctx is done.
// For a static pod it does not wait, and returns the known services.
func (s *Services) Services(ctx context.Context, pod *v1.Pod) ([]*v1.Service, error) {
	if !podmanager.IsStaticPod(pod) {
		ctx, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(FirstRead))
		defer cancel()
		if err := s.synced.Wait(ctx); err != nil {
			return nil, fmt.Errorf("objects: the services were not read yet: %w", err)
		}
	}
	all, _ := s.follower.Objects()
	return slices.DeleteFunc(all, func(one *v1.Service) bool {
		return one.Namespace != pod.Namespace && one.Namespace != v1.NamespaceDefault
	}), nil
}
