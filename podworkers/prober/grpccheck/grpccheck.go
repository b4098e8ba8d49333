package grpccheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/podworkers/prober"
)

// The errors of checks that cannot be made.
var (
	// ErrNoHandler: the request is not for a grpc probe.
	ErrNoHandler = errors.New("grpccheck: the probe names no grpc handler")
	// ErrNoAddress: the pod has no address yet.
	ErrNoAddress = errors.New("grpccheck: the pod has no address")
	// ErrPort: the port is not from 1 to 65535.
	ErrPort = errors.New("grpccheck: no such port")
)

// DefaultUserAgent is the default User-Agent of the checks.
const DefaultUserAgent = "kube-probe/podkeel"

// maxAnswerBytes is the maximum size of an answer. A health status takes two bytes.
const maxAnswerBytes = 4 << 10

// Config configures a Checker. Its zero value is valid.
type Config struct {
	// UserAgent is the User-Agent of the checks; empty is DefaultUserAgent.
	UserAgent string
	// DialContext makes connections; nil uses a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Checker is a prober.Checker for grpc probes. It may be used concurrently and keeps no connections
// between checks.
type Checker struct {
	cfg  Config
	dial podhttp.DialContext
}

var _ prober.Checker = (*Checker)(nil)

// New returns a Checker. It starts nothing, and every Config is valid.
func New(cfg Config) *Checker {
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	return &Checker{cfg: cfg, dial: podhttp.Dialer(cfg.DialContext)}
}

// Check implements prober.Checker.
func (c *Checker) Check(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	if req.Handler == nil || req.Handler.GRPC == nil {
		return 0, "", ErrNoHandler
	}
	probe := req.Handler.GRPC
	if req.PodIP == "" {
		return 0, "", ErrNoAddress
	}
	if probe.Port < 1 || probe.Port > 65535 {
		return 0, "", fmt.Errorf("%w: %d", ErrPort, probe.Port)
	}
	service := ""
	if probe.Service != nil {
		service = *probe.Service
	}
	conn, err := c.newLazyConn(net.JoinHostPort(req.PodIP, strconv.Itoa(int(probe.Port))))
	if err != nil {
		return 0, "", fmt.Errorf("grpccheck: %w", err)
	}
	defer func() { _ = conn.Close() }()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	return resultOfAnswerUnlessContextEnded(ctx, service, answer, err)
}

// newLazyConn returns a gRPC connection without TLS that dials at its first use. It uses no name resolver,
// proxy or service configuration.
func (c *Checker) newLazyConn(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUserAgent(c.cfg.UserAgent),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswerBytes)),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return c.dial(ctx, "tcp", address)
		}))
}

// resultOfAnswerUnlessContextEnded returns the result of a gRPC health check. The result is Passed if the
// service is SERVING, and Failed for any other status or if err is not nil. If ctx has ended, it returns the
// error of ctx instead, even after a response.
func resultOfAnswerUnlessContextEnded(ctx context.Context, service string, answer *healthpb.HealthCheckResponse, err error) (prober.CheckResult, string, error) {
	switch {
	case ctx.Err() != nil:
		return 0, "", ctx.Err()
	case err != nil:
		s := status.Convert(err)
		return prober.Failed, fmt.Sprintf("service %q: %s: %s", service, s.Code(), s.Message()), nil
	case answer.GetStatus() != healthpb.HealthCheckResponse_SERVING:
		return prober.Failed, fmt.Sprintf("service %q: %s", service, answer.GetStatus()), nil
	}
	return prober.Passed, fmt.Sprintf("service %q: serving", service), nil
}
