package debug

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

const (
	// headerTimeout limits the time to read the header of a request, readTimeout the whole request, and
	// writeTimeout the response, unless the response is a stream.
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = time.Minute
	// idleTimeout is how long a connection may wait for its next request.
	idleTimeout = 30 * time.Second
	// maxHeaderBytes limits the header of a request, in bytes.
	maxHeaderBytes = 16 << 10

	// maxConnections is the maximum of the default limit of connections.
	maxConnections = 256
	// minConnections is the minimum of the default limit of connections.
	minConnections = 4
	// filesPerConnection is the number of files that the process may open for each connection. The
	// other files are for the program itself.
	filesPerConnection = 8
)

// ServerConfig configures a Server. Handler is required.
type ServerConfig struct {
	// Handler responds to requests, for example the handler of [New].
	Handler http.Handler
	// MaxConnections limits the number of open connections. For a further connection the server closes
	// one without a running request, first of clients that the Handler has not accepted. If every
	// connection has a running request, the new one waits until one is closed. 0 is 256, or an eighth
	// of the files that the process may open if that is less, so that the program can always open files
	// of its own.
	MaxConnections int
	// MaxHeaderBytes limits the header of a request. 0 is 16 KiB.
	MaxHeaderBytes int
	// TLS encrypts connections. Nil: connections are not encrypted.
	TLS *tls.Config
	// Log receives the errors of the HTTP server at level debug. Nil discards them.
	Log *slog.Logger
}

// Server serves a handler and limits how long a client can hold resources. The header of a request must
// arrive within 5 seconds and has at most 16 KiB. The request must arrive within 10 seconds, and the
// client must read the response within a minute. A connection waits half a minute for its next request.
// Streams of the handler of New (followed logs, output of commands) last as long as the client reads.
type Server struct {
	ran            atomic.Bool
	http           *http.Server
	serving        serving
	maxConnections int
	tls            *tls.Config
}

// serving counts the running requests. After its end no further request begins.
type serving struct {
	sync.WaitGroup
	mu struct {
		sync.Mutex
		ended bool
	}
}

// beginRequest counts a request as running and returns true; the caller calls Done at the end of the request.
// After rejectAndWaitForRequests it returns false and counts nothing.
func (s *serving) beginRequest() (counted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.ended {
		s.Add(1)
	}
	return !s.mu.ended
}

// rejectAndWaitForRequests makes beginRequest return false from then on, and waits until the running requests
// have ended.
func (s *serving) rejectAndWaitForRequests() {
	s.mu.Lock()
	s.mu.ended = true
	s.mu.Unlock()
	s.Wait()
}

// NewServer makes a Server. It starts nothing. The error names the invalid field.
func NewServer(config ServerConfig) (*Server, error) {
	if config.Handler == nil {
		return nil, errors.New("debug: ServerConfig.Handler is needed")
	}
	if config.MaxConnections < 0 {
		return nil, errors.New("debug: ServerConfig.MaxConnections is negative")
	}
	if config.MaxConnections == 0 {
		config.MaxConnections = defaultMaxConnections(openFileLimit())
	}
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	return &Server{maxConnections: config.MaxConnections, tls: config.TLS, http: &http.Server{
		Handler:           config.Handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    cmp.Or(config.MaxHeaderBytes, maxHeaderBytes),
		ErrorLog:          slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
	}}, nil
}

// defaultMaxConnections returns the default limit of connections for a process that may open this number of
// files, between minConnections and maxConnections. If files is 0, which means no limit, it returns
// maxConnections.
func defaultMaxConnections(files uint64) int {
	if files == 0 {
		return maxConnections
	}
	return int(max(minConnections, min(maxConnections, files/filesPerConnection)))
}

// Run serves the connections of a listener until ctx ends, and returns nil then. It always closes the
// listener and every connection. The context of a request ends with its connection and with ctx. Run
// waits for every request, also for those that have hijacked their connection. A second call returns
// runtime.ErrSecondRun.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	if s.ran.Swap(true) {
		_ = l.Close()
		return fmt.Errorf("debug: %w", runtime.ErrSecondRun)
	}
	ctx, cancel := context.WithCancel(ctx)
	closed := make(chan struct{})
	defer func() { cancel(); <-closed; s.serving.rejectAndWaitForRequests() }()
	open := newLimitedListener(l, s.maxConnections)
	go func() {
		defer close(closed)
		<-ctx.Done()
		_ = s.http.Close() // Requests only read, so nothing is lost.
		open.closeAll()    // Close does not close hijacked connections.
	}()
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	s.http.ConnContext = withPeerConnection
	s.http.Handler = s.serveWhileRunning(s.http.Handler)
	l = open
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// serveWhileRunning returns a handler that passes requests to handler until Run ends, and does nothing
// afterwards. Run waits for these requests, and the listener does not close their connections at its limit.
func (s *Server) serveWhileRunning(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.serving.beginRequest() {
			defer s.serving.Done()
			defer raisePriorityForRequest(r.Context())()
			handler.ServeHTTP(w, r)
		}
	})
}
