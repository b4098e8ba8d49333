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

// Runtime drives a container runtime over CRI. All methods are safe for concurrent use.
type Runtime struct {
	cfg            Config
	executor       executor.Executor
	conn           *grpc.ClientConn
	runtime        cri.RuntimeServiceClient
	images         cri.ImageServiceClient
	connections    atomic.Uint64 // how many connections were opened
	records        recordCache
	inProgress     createsInProgress
	containerStops stopQueue
	sandboxStops   stopQueue // stops and removals of sandboxes

	mu        sync.Mutex
	handshake handshakeInfo // of the newest connection that has answered
}

var (
	_ runtime.Runtime         = (*Runtime)(nil)
	_ runtime.FeatureReporter = (*Runtime)(nil)
)

// New creates a Runtime. It does not connect. The first call connects, and each call after a lost
// connection connects again. Close closes the connection.
func New(cfg Config) (*Runtime, error) {
	if err := cfg.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	r := &Runtime{cfg: cfg, executor: executor.Over(cfg.Clock)}
	r.records.known = map[string]cachedRecord{}
	r.inProgress.names = map[string]bool{}
	r.containerStops.executor, r.containerStops.pace = r.executor, containerStopPace
	r.sandboxStops.executor, r.sandboxStops.pace = r.executor, newSandboxStopPace(cfg.Deadlines.Remove)
	conn, err := grpc.NewClient("passthrough:///"+cfg.Endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithAuthority("localhost"), // A socket path is not a valid authority.
		grpc.WithContextDialer(r.dialAndCount),
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

// Close closes the connection and cancels the calls in progress. Later calls fail.
func (r *Runtime) Close() error { return r.conn.Close() }

// dialAndCount opens a connection to the runtime's socket and increments the number of connections.
// ensureHandshake compares that number to run once per connection.
func (r *Runtime) dialAndCount(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := r.cfg.DialContext(ctx, "unix", r.cfg.Endpoint)
	if err == nil {
		r.connections.Add(1)
	}
	return conn, err
}

// handshakeInfo is what the runtime reported about itself on a connection.
type handshakeInfo struct {
	connection        uint64 // number of the connection; zero: none has answered yet
	name, version     string
	recursiveReadOnly map[string]bool // runtime handlers that support recursive read-only mounts
	userNamespaces    map[string]bool // runtime handlers that support user namespaces
	strictGroups      bool            // the supplemental groups policy Strict is supported
	noListStreams     bool            // streaming list calls are not supported
}

// ensureHandshake fetches the version and the features of the runtime and stores them, unless that was done on
// the current connection; a new connection may lead to another runtime. After a handshake on a new connection
// it calls Hooks.Connected. It returns ErrUnsupported if the runtime's CRI version is not v1 (F73).
func (r *Runtime) ensureHandshake(ctx context.Context) error {
	r.mu.Lock()
	known := r.handshake.connection
	r.mu.Unlock()
	if known != 0 && known == r.connections.Load() {
		return nil
	}
	v, err := callWithTimeout(ctx, r, "Version", r.cfg.Deadlines.Read, r.runtime.Version, &cri.VersionRequest{})
	if err != nil {
		return r.translateError(ctx, "Version", err)
	}
	if api := v.GetRuntimeApiVersion(); api != "v1" {
		return fmt.Errorf("cri: %w: %s %s speaks CRI %q, not v1", runtime.ErrUnsupported, v.GetRuntimeName(), v.GetRuntimeVersion(), api)
	}
	dials := r.connections.Load()
	s, err := callWithTimeout(ctx, r, "Status", r.cfg.Deadlines.Read, r.runtime.Status, &cri.StatusRequest{})
	if err != nil {
		return r.translateError(ctx, "Status", err)
	}
	// If another connection was opened meanwhile, the next call repeats the handshake.
	g := handshakeInfo{connection: dials, name: v.GetRuntimeName(), version: v.GetRuntimeVersion(), recursiveReadOnly: map[string]bool{}, userNamespaces: map[string]bool{}}
	g.strictGroups = s.GetFeatures().GetSupplementalGroupsPolicy()
	for _, h := range s.GetRuntimeHandlers() {
		g.recursiveReadOnly[h.GetName()] = h.GetFeatures().GetRecursiveReadOnlyMounts()
		g.userNamespaces[h.GetName()] = h.GetFeatures().GetUserNamespaces()
	}
	r.mu.Lock()
	news := r.handshake.connection != g.connection
	r.handshake = g
	r.mu.Unlock()
	if news {
		r.cfg.Hooks.Connected(g.name, g.version)
	}
	return nil
}

// lastHandshake returns the newest stored handshake: the runtime's name, version and features. The maps in it
// are never modified.
func (r *Runtime) lastHandshake() handshakeInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handshake
}

// grpcMethod is a generated method of a CRI client.
type grpcMethod[Q, R any] func(context.Context, Q, ...grpc.CallOption) (R, error)

// callMethod makes one CRI call with a timeout, after a handshake if the connection is new. It translates a
// gRPC error to an error of package runtime.
func callMethod[Q, R any](ctx context.Context, r *Runtime, verb string, timeout time.Duration, f grpcMethod[Q, R], req Q) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("cri: %s: %w", verb, err)
	}
	if err := r.ensureHandshake(ctx); err != nil {
		return none, err
	}
	res, err := callWithTimeout(ctx, r, verb, timeout, f, req)
	if err != nil {
		return none, r.translateError(ctx, verb, err)
	}
	return res, nil
}

// callRead makes one CRI call that changes nothing, with the timeout Deadlines.Read. It runs the handshake
// first if the connection is new, and translates a gRPC error to an error of package runtime.
func callRead[Q, R any](ctx context.Context, r *Runtime, verb string, f grpcMethod[Q, R], req Q) (R, error) {
	return callMethod(ctx, r, verb, r.cfg.Deadlines.Read, f, req)
}

// callWithTimeout makes one CRI call with a timeout, and reports its duration and error to Hooks.Called. The
// error is not translated.
func callWithTimeout[Q, R any](ctx context.Context, r *Runtime, verb string, timeout time.Duration, f grpcMethod[Q, R], req Q) (R, error) {
	began := r.executor.Now()
	ctx, cancel := r.executor.WithDeadline(ctx, began.Add(timeout))
	defer cancel()
	res, err := f(ctx, req)
	r.cfg.Hooks.Called(verb, r.executor.Now().Sub(began), err)
	return res, err
}
