package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	dial := podhttp.Dialer(cfg.DialContext)
	return &Checker{cfg: cfg, dial: dial, http: podhttp.Transport(dial)}
}

// Check implements prober.Checker.
func (c *Checker) Check(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
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

// address is the host and the port of a probe: those that it names, or the pod's.
func address(req prober.Request, host string, port intstr.IntOrString) (string, int, error) {
	host = cmp.Or(host, req.PodIP)
	if host == "" {
		return "", 0, ErrNoAddress
	}
	number, ok := podhttp.ResolvePort(port, req.Ports)
	switch {
	case ok:
		return host, number, nil
	case port.Type == intstr.String && number == 0 && port.StrVal != "0":
		return "", 0, fmt.Errorf("%w: container %q has none called %q", ErrPort, req.Container, port.StrVal)
	}
	return "", 0, fmt.Errorf("%w: %s", ErrPort, port.String())
}

// connect makes a connection and closes it: that it can be made is a success.
func (c *Checker) connect(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	probe := req.Handler.TCPSocket
	host, port, err := address(req, probe.Host, probe.Port)
	if err != nil {
		return 0, "", err
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := c.dial(ctx, "tcp", address)
	if err != nil {
		return answerOf(ctx, err)
	}
	_ = conn.Close()
	return prober.Passed, "connected to " + address, nil
}

// answerOf turns the error of a connection into an answer: nobody answers there,
// unless it is our context that has ended.
func answerOf(ctx context.Context, err error) (prober.CheckResult, string, error) {
	if ctx.Err() != nil {
		return 0, "", ctx.Err()
	}
	return prober.Failed, err.Error(), nil
}

// exec runs a command in the container: exit code 0 is a success, another a
// failure (PR-21). That it cannot be run is an error. Ending it at the timeout
// is the runtime's part of the contract of runtime.Execer.
func (c *Checker) exec(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	if c.cfg.Exec == nil {
		return 0, "", ErrNoExec
	}
	result, err := c.cfg.Exec.Exec(ctx, runtime.ExecRequest{
		ContainerID: BareID(req.ContainerID),
		Command:     req.Handler.Exec.Command,
		OutputLimit: outputLimit,
	})
	if err != nil {
		return 0, "", fmt.Errorf("check: exec: %w", err)
	}
	output := result.Output
	if len(output) > outputLimit { // The runtime may not honour the limit (F96).
		output = output[:outputLimit]
	}
	text := strings.TrimSpace(string(output))
	if result.ExitCode == 0 {
		return prober.Passed, text, nil
	}
	return prober.Failed, strings.TrimSpace(fmt.Sprintf("exit code %d: %s", result.ExitCode, text)), nil
}

// BareID is the runtime's ID of a container, without the runtime's name that
// statuses put before it.
func BareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}
