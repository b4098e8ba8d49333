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

// apiHeader bounds the header of a request, in bytes: the command of an exec is in it.
const apiHeader = 128 << 10

// ServiceConfig is what a Service is made of. API, Listener and Credentials are required.
type ServiceConfig struct {
	// API answers. Its Config.Authenticator is the [Token] of the Credentials.
	API *API
	// Listener is where clients connect, such as a free port of 127.0.0.1. Run closes it.
	Listener net.Listener
	// Credentials are what the server proves itself by, and the token of clients:
	// [KeepCredentials] or [NewCredentials].
	Credentials *Credentials
	// Hosts are further names and addresses by which clients reach the server. Localhost, the
	// loopback addresses and the Address of the Service are always included.
	Hosts []string
	// Kubeconfig is the file for kubectl. NewService writes it, with mode 0600. A file that is there
	// is replaced only if it is a kubeconfig that a Service has written. Empty: none is written.
	Kubeconfig string
	// Log takes what connections complain of, at debug. Nil discards.
	Log *slog.Logger
}

// Service serves an API over TLS, with the bounds of debug.Server.
type Service struct {
	api      *API
	server   *debug.Server
	listener net.Listener
	ran      atomic.Bool
}

// NewService makes a Service and writes its kubeconfig. It starts nothing. Clients that connect
// before Run wait; those that ask before API.Ready get 503, after which client-go tries again each
// second, ten times. The error says what is missing in the Config, or why the kubeconfig was not
// written: [ErrForeignFile] if another file is in its place. NewService never closes the Listener.
func NewService(config ServiceConfig) (*Service, error) {
	if config.API == nil || config.Listener == nil || config.Credentials == nil {
		return nil, errors.New("localapi: ServiceConfig.API, Listener and Credentials are all needed")
	}
	s := &Service{api: config.API, listener: config.Listener}
	host, _, _ := net.SplitHostPort(s.Address()) // One that cannot be split is no name of a host.
	tls, err := config.Credentials.TLS(append(slices.Clone(config.Hosts), host)...)
	if err != nil {
		return nil, err
	}
	s.server, err = debug.NewServer(debug.ServerConfig{Handler: config.API, TLS: tls, MaxHeaderBytes: apiHeader, Log: config.Log})
	if err != nil {
		return nil, err
	}
	if err := s.introduce(config); err != nil {
		return nil, fmt.Errorf("localapi: kubeconfig %q: %w", config.Kubeconfig, err)
	}
	return s, nil
}

// introduce writes the kubeconfig.
func (s *Service) introduce(config ServiceConfig) error {
	if config.Kubeconfig == "" {
		return nil
	}
	if err := replaceable(config.Kubeconfig); err != nil {
		return err
	}
	text := config.Credentials.Kubeconfig(s.Address())
	if isSecret(config.Kubeconfig, text) {
		return nil // As on a disk that is full, or read only, by now.
	}
	return writeSecret(config.Kubeconfig, text)
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

// Run runs the API and serves its clients until ctx ends, and returns nil then. If one of the two
// fails, Run ends the other and returns the error. A second call returns runtime.ErrSecondRun.
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
