package localapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/debug"
)

// maxHeaderBytes bounds the header of a request. The command of an exec is in the URL.
const maxHeaderBytes = 128 << 10

// ServiceConfig configures a Service. API, Listener and Credentials are required.
type ServiceConfig struct {
	// API serves the requests. Its Config.Authenticator is the [Token] of the Credentials.
	API *API
	// Listener accepts the connections, for example on a free port of 127.0.0.1. Run closes it.
	Listener net.Listener
	// Credentials sign the server certificate and have the token of the kubeconfig: see [KeepCredentials] and
	// [NewCredentials].
	Credentials *Credentials
	// Hosts are more names and addresses of the server for its certificate. Localhost, the loopback addresses and the
	// Address of the Service are always included.
	Hosts []string
	// Kubeconfig is the path of the kubeconfig, which NewService writes with mode 0600. NewService replaces an existing
	// file only if a Service has written it. Empty: no kubeconfig is written.
	Kubeconfig string
	// Log receives connection errors at level debug. Nil discards them.
	Log *slog.Logger
}

// Service serves an API over TLS with the limits of debug.Server.
type Service struct {
	api      *API
	server   *debug.Server
	listener net.Listener
	ran      atomic.Bool
}

// NewService returns a Service and writes its kubeconfig. It starts no goroutine. It does not close the Listener, even
// if it returns an error; Run closes it. Connections that arrive before Run wait. Requests for objects before API.Ready
// get 503, after which client-go retries each second, ten times. The error names a missing field of the Config, or says
// why the kubeconfig was not written: [ErrForeignFile] if the path has another file.
func NewService(config ServiceConfig) (*Service, error) {
	if config.API == nil || config.Listener == nil || config.Credentials == nil {
		return nil, errors.New("localapi: ServiceConfig.API, Listener and Credentials are all needed")
	}
	s := &Service{api: config.API, listener: config.Listener}
	host, _, _ := net.SplitHostPort(s.Address()) // An address without a port is no host name.
	tls, err := config.Credentials.TLS(append(slices.Clone(config.Hosts), host)...)
	if err != nil {
		return nil, err
	}
	s.server, err = debug.NewServer(debug.ServerConfig{Handler: config.API, TLS: tls, MaxHeaderBytes: maxHeaderBytes, Log: config.Log})
	if err != nil {
		return nil, err
	}
	if err := s.writeKubeconfig(config); err != nil {
		return nil, fmt.Errorf("localapi: kubeconfig %q: %w", config.Kubeconfig, err)
	}
	return s, nil
}

// writeKubeconfig writes the kubeconfig to its path, unless the path is empty or the file has the same content.
// It returns an error if a file with foreign content is at the path.
func (s *Service) writeKubeconfig(config ServiceConfig) error {
	if config.Kubeconfig == "" {
		return nil
	}
	if err := checkKubeconfigReplaceable(config.Kubeconfig); err != nil {
		return err
	}
	text := config.Credentials.Kubeconfig(s.Address())
	if hasSecretFile(config.Kubeconfig, text) {
		return nil // No write, because the disk may be full or read-only.
	}
	return writeSecretFile(config.Kubeconfig, text)
}

// Address returns an address that a client on this machine can dial, such as 127.0.0.1:6443.
func (s *Service) Address() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return s.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// Run runs the API and the server until ctx is done, and then returns nil. If one of them fails, Run stops the other
// and returns the error. A second call returns runtime.ErrSecondRun.
func (s *Service) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return fmt.Errorf("localapi: %w", runtime.ErrSecondRun)
	}
	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer end()
		ended <- s.api.Run(ctx)
	}()
	err := s.server.Run(ctx, s.listener)
	end()
	return errors.Join(err, <-ended)
}
