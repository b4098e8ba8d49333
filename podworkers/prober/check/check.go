package check

import (
	"context"
	"errors"
	"net"
	"net/http"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
)

// The errors of checks that cannot be made.
var (
	// ErrNoHandler is a probe that does not say how to check.
	ErrNoHandler = errors.New("check: the probe names no handler")
	// ErrNoExec is an exec probe where the runtime runs no commands.
	ErrNoExec = errors.New("check: the runtime cannot run commands in containers")
	// ErrNoGRPC is a grpc probe without a Config.GRPC.
	ErrNoGRPC = errors.New("check: grpc probes are not supported here")
	// ErrNoAddress is a probe of a pod that has no address yet.
	ErrNoAddress = errors.New("check: the pod has no address")
	// ErrPort is a port that does not exist.
	ErrPort = errors.New("check: no such port")
)

// outputLimit is how many bytes of a command's output or of a body are read.
const outputLimit = 10 << 10

// DefaultUserAgent is what http probes call themselves.
const DefaultUserAgent = "kube-probe/podkeel"

// Config is what New needs. Its zero value makes http and tcp checks.
type Config struct {
	// Exec runs the commands of exec probes; nil makes them an error.
	Exec runtime.Execer
	// GRPC makes the grpc checks: a grpccheck.Checker, or another Checker. Its Check is called
	// for requests whose Handler has GRPC set. Nil: grpc probes fail with ErrNoGRPC.
	GRPC prober.Checker
	// UserAgent is what http probes call themselves that do not say otherwise;
	// empty is DefaultUserAgent.
	UserAgent string
	// DialContext makes connections; nil is a net.Dialer's. A program whose
	// pods live in another network namespace puts its own here.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Checker is a prober.Checker for the handlers that a pod can name. It may be
// used concurrently and holds no connections between checks.
type Checker struct {
	cfg  Config
	dial podhttp.DialContext
	http http.RoundTripper
}

var _ prober.Checker = (*Checker)(nil)

// New makes a Checker. It starts nothing, and every Config will do.
func New(cfg Config) *Checker {
	if cfg.UserAgent == "" {
		cfg.UserAgent = DefaultUserAgent
	}
	dial := podhttp.Dialer(cfg.DialContext)
	return &Checker{cfg: cfg, dial: dial, http: podhttp.Transport(dial)}
}

// Check implements prober.Checker.
func (c *Checker) Check(ctx context.Context, req prober.Request) (prober.Outcome, string, error) {
	switch h := handler(req); {
	case h.Exec != nil:
		return c.exec(ctx, req)
	case h.HTTPGet != nil:
		return c.get(ctx, req)
	case h.TCPSocket != nil:
		return c.connect(ctx, req)
	case h.GRPC != nil && c.cfg.GRPC == nil:
		return 0, "", ErrNoGRPC
	case h.GRPC != nil:
		return c.cfg.GRPC.Check(ctx, req)
	}
	return 0, "", ErrNoHandler
}

func handler(req prober.Request) *v1.ProbeHandler {
	if req.Handler == nil {
		return &v1.ProbeHandler{}
	}
	return req.Handler
}
