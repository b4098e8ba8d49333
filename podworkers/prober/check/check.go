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
	// ErrNoHandler: the probe has no handler.
	ErrNoHandler = errors.New("check: the probe names no handler")
	// ErrNoExec: the runtime runs no commands, so an exec probe cannot be made.
	ErrNoExec = errors.New("check: the runtime cannot run commands in containers")
	// ErrNoGRPC: Config.GRPC is nil, so a grpc probe cannot be made.
	ErrNoGRPC = errors.New("check: grpc probes are not supported here")
	// ErrNoAddress: the pod has no address yet.
	ErrNoAddress = errors.New("check: the pod has no address")
	// ErrPort: the port does not exist.
	ErrPort = errors.New("check: no such port")
)

// maxOutputBytes is how many bytes of a command's output or of an HTTP body are read.
const maxOutputBytes = 10 << 10

// DefaultUserAgent is the default User-Agent of http probes.
const DefaultUserAgent = "kube-probe/podkeel"

// Config configures a Checker. Its zero value makes http and tcp checks.
type Config struct {
	// Exec runs the commands of exec probes. Nil: exec probes fail with ErrNoExec.
	Exec runtime.Execer
	// GRPC makes the grpc checks: a grpccheck.Checker, or another Checker. Its Check is called
	// for requests whose Handler has GRPC set. Nil: grpc probes fail with ErrNoGRPC.
	GRPC prober.Checker
	// UserAgent is the User-Agent of http probes that do not set one; empty is DefaultUserAgent.
	UserAgent string
	// DialContext makes connections; nil uses a net.Dialer. A program whose pods are in another
	// network namespace sets it.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Checker is a prober.Checker for all handlers of the pod API. It may be used concurrently and
// keeps no connections between checks.
type Checker struct {
	cfg  Config
	dial podhttp.DialContext
	http http.RoundTripper
}

var _ prober.Checker = (*Checker)(nil)

// New returns a Checker. It starts nothing, and every Config is valid.
func New(cfg Config) *Checker {
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	dial := podhttp.Dialer(cfg.DialContext)
	return &Checker{cfg: cfg, dial: dial, http: podhttp.Transport(dial)}
}

// Check implements prober.Checker.
func (c *Checker) Check(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	switch h := handlerOrEmpty(req); {
	case h.Exec != nil:
		return c.checkExec(ctx, req)
	case h.HTTPGet != nil:
		return c.checkHTTP(ctx, req)
	case h.TCPSocket != nil:
		return c.checkTCP(ctx, req)
	case h.GRPC != nil && c.cfg.GRPC == nil:
		return 0, "", ErrNoGRPC
	case h.GRPC != nil:
		return c.cfg.GRPC.Check(ctx, req)
	}
	return 0, "", ErrNoHandler
}

// handlerOrEmpty returns the handler of a probe request. If it is nil, it returns an empty handler.
func handlerOrEmpty(req prober.Request) *v1.ProbeHandler {
	if req.Handler == nil {
		return &v1.ProbeHandler{}
	}
	return req.Handler
}

// resolveAddress returns the host and the port number of a probe. An empty host is replaced by the pod IP, and
// a port name by the number of the container port. A missing address or an unknown port is an error.
func resolveAddress(req prober.Request, host string, port intstr.IntOrString) (string, int, error) {
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

// checkTCP opens a TCP connection and closes it. The probe passes if the connection opens, and fails if it does
// not. It returns an error if ctx has ended, or if the address or the port cannot be resolved.
func (c *Checker) checkTCP(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	probe := req.Handler.TCPSocket
	host, port, err := resolveAddress(req, probe.Host, probe.Port)
	if err != nil {
		return 0, "", err
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := c.dial(ctx, "tcp", address)
	if err != nil {
		return resultOfFailedConnection(ctx, err)
	}
	_ = conn.Close()
	return prober.Passed, "connected to " + address, nil
}

// resultOfFailedConnection returns the result of a check whose connection failed with err: Failed with the text
// of err, or the error of ctx if ctx has ended.
func resultOfFailedConnection(ctx context.Context, err error) (prober.CheckResult, string, error) {
	if ctx.Err() != nil {
		return 0, "", ctx.Err()
	}
	return prober.Failed, err.Error(), nil
}

// checkExec runs the command of an exec probe in the container. Exit code 0 passes, and any other fails. It
// returns an error if the command cannot run. The runtime stops the command at the timeout, by the contract of
// runtime.Execer (PR-21).
func (c *Checker) checkExec(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	if c.cfg.Exec == nil {
		return 0, "", ErrNoExec
	}
	result, err := c.cfg.Exec.Exec(ctx, runtime.ExecRequest{
		ContainerID: BareID(req.ContainerID),
		Command:     req.Handler.Exec.Command,
		OutputLimit: maxOutputBytes,
	})
	if err != nil {
		return 0, "", fmt.Errorf("check: exec: %w", err)
	}
	output := result.Output
	if len(output) > maxOutputBytes { // The runtime may not honour the limit (F96).
		output = output[:maxOutputBytes]
	}
	text := strings.TrimSpace(string(output))
	if result.ExitCode == 0 {
		return prober.Passed, text, nil
	}
	return prober.Failed, strings.TrimSpace(fmt.Sprintf("exit code %d: %s", result.ExitCode, text)), nil
}

// BareID returns the runtime's ID of a container, without the scheme that statuses put in front of
// it.
func BareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}
