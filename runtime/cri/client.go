package cri

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Runtime drives a runtime that speaks CRI. All methods are safe for concurrent
// use.
type Runtime struct {
	cfg      Config
	executor executor.Executor
	conn     *grpc.ClientConn
	runtime  cri.RuntimeServiceClient
	images   cri.ImageServiceClient
	dials    atomic.Uint64 // connections made so far
	records  records
	making   making
	stops    stopQueue // of containers
	ends     stopQueue // of sandboxes

	mu       sync.Mutex
	greeting greeting // the last
}

var (
	_ runtime.Runtime         = (*Runtime)(nil)
	_ runtime.FeatureReporter = (*Runtime)(nil)
)

// New makes a Runtime. It starts nothing and connects to nothing: the first
// call does, and each call after a connection was lost does so again. Close
// ends it.
func New(cfg Config) (*Runtime, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	r := &Runtime{cfg: cfg, executor: executor.Over(cfg.Clock)}
	r.records.known = map[string]record{}
	r.making.names = map[string]bool{}
	r.stops.executor, r.stops.pace = r.executor, ofContainers
	r.ends.executor, r.ends.pace = r.executor, ofSandboxes(cfg.Deadlines.Remove)
	conn, err := grpc.NewClient("passthrough:///"+cfg.Endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithAuthority("localhost"), // A path is none.
		grpc.WithContextDialer(r.dial),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessageBytes)))
	if err != nil {
		return nil, fmt.Errorf("cri: %w", err)
	}
	r.conn, r.runtime, r.images = conn, cri.NewRuntimeServiceClient(conn), cri.NewImageServiceClient(conn)
	return r, nil
}

// Close ends the connection and the calls under way. Calls after it fail.
func (r *Runtime) Close() error { return r.conn.Close() }

// dial counts connections, so that each is greeted.
func (r *Runtime) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := r.cfg.DialContext(ctx, "unix", r.cfg.Endpoint)
	if err == nil {
		r.dials.Add(1)
	}
	return conn, err
}

// greeting is what a runtime has said of itself on a connection.
type greeting struct {
	dials         uint64 // which connection; zero: none yet
	name, version string
	readOnly      map[string]bool // handlers that can mount all below read-only
	users         map[string]bool // handlers that can map users
	strictGroups  bool            // it honours the policy Strict
	noStreams     bool            // it cannot send lists in parts
}

// greet asks a runtime that may be another one than before who it is (F73). It
// costs nothing while the connection stands.
func (r *Runtime) greet(ctx context.Context) error {
	r.mu.Lock()
	known := r.greeting.dials
	r.mu.Unlock()
	if known != 0 && known == r.dials.Load() {
		return nil
	}
	v, err := within(ctx, r, "Version", r.cfg.Deadlines.Read, r.runtime.Version, &cri.VersionRequest{})
	if err != nil {
		return r.failed(ctx, "Version", err)
	}
	if api := v.GetRuntimeApiVersion(); api != "v1" {
		return fmt.Errorf("cri: %w: %s %s speaks CRI %q, not v1", runtime.ErrUnsupported, v.GetRuntimeName(), v.GetRuntimeVersion(), api)
	}
	dials := r.dials.Load()
	s, err := within(ctx, r, "Status", r.cfg.Deadlines.Read, r.runtime.Status, &cri.StatusRequest{})
	if err != nil {
		return r.failed(ctx, "Status", err)
	}
	// Of a connection that was made meanwhile nothing is known: the next call greets.
	g := greeting{dials: dials, name: v.GetRuntimeName(), version: v.GetRuntimeVersion(), readOnly: map[string]bool{}, users: map[string]bool{}}
	g.strictGroups = s.GetFeatures().GetSupplementalGroupsPolicy()
	for _, h := range s.GetRuntimeHandlers() {
		g.readOnly[h.GetName()] = h.GetFeatures().GetRecursiveReadOnlyMounts()
		g.users[h.GetName()] = h.GetFeatures().GetUserNamespaces()
	}
	r.mu.Lock()
	news := r.greeting.dials != g.dials
	r.greeting = g
	r.mu.Unlock()
	if news {
		r.cfg.Hooks.Connected(g.name, g.version)
	}
	return nil
}

// greeted is the last greeting. Its maps are never written to.
func (r *Runtime) greeted() greeting {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.greeting
}

// method is a verb of CRI as generated.
type method[Q, R any] func(context.Context, Q, ...grpc.CallOption) (R, error)

// call is the frame of every verb: greeting, deadline, and errors in our words.
func call[Q, R any](ctx context.Context, r *Runtime, verb string, limit time.Duration, f method[Q, R], req Q) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("cri: %s: %w", verb, err)
	}
	if err := r.greet(ctx); err != nil {
		return none, err
	}
	res, err := within(ctx, r, verb, limit, f, req)
	if err != nil {
		return none, r.failed(ctx, verb, err)
	}
	return res, nil
}

// read is call for what changes nothing.
func read[Q, R any](ctx context.Context, r *Runtime, verb string, f method[Q, R], req Q) (R, error) {
	return call(ctx, r, verb, r.cfg.Deadlines.Read, f, req)
}

// within makes a call within a time, and tells of it.
func within[Q, R any](ctx context.Context, r *Runtime, verb string, limit time.Duration, f method[Q, R], req Q) (R, error) {
	began := r.executor.Now()
	ctx, cancel := r.executor.WithDeadline(ctx, began.Add(limit))
	defer cancel()
	res, err := f(ctx, req)
	r.cfg.Hooks.Called(verb, r.executor.Now().Sub(began), err)
	return res, err
}
