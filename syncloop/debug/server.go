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
	// headerTimeout is how long the header of a request may take to come, readTimeout
	// the whole of it, and writeTimeout the answer, unless it is a stream.
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = time.Minute
	// idleTimeout is how long a connection may wait for its next request.
	idleTimeout = 30 * time.Second
	// maxHeaderBytes bounds the header of a request, in bytes.
	maxHeaderBytes = 16 << 10

	// maxConnections is how many connections are open at once where the process
	// may open many files.
	maxConnections = 256
	// minConnections are open at once however few files there may be.
	minConnections = 4
	// filesPerConnection is the part of the files of the process that connections may
	// take: one in so many. The others are for the program's own files.
	filesPerConnection = 8
)

// ServerConfig is what a Server is made of; Handler is required.
type ServerConfig struct {
	// Handler answers, as that of [New] does.
	Handler http.Handler
	// MaxConnections bounds how many connections are open at once. For a further one
	// another is closed over which nothing is being answered, of clients that the
	// Handler has not accepted before others; where there is none it waits until one
	// is closed. 0 is 256, or an eighth of the files that the process may have open if
	// that is less: so the program can always open files of its own.
	MaxConnections int
	// MaxHeaderBytes bounds the header of a request. 0 is 16 KiB.
	MaxHeaderBytes int
	// TLS is with what connections are encrypted. Nil: they are not.
	TLS *tls.Config
	// Log takes what the server complains of, at debug. nil discards.
	Log *slog.Logger
}

// Server answers requests with bounds on what a client can hold: the header has to
// come within 5 seconds and has at most 16 KiB, the request within 10 seconds, an
// answer is taken within a minute, and a connection waits for half a minute for
// its next request. Streams of the handler of New (logs that are followed, output
// of commands) last as long as their client takes what comes.
type Server struct {
	ran            atomic.Bool
	http           *http.Server
	serving        serving
	maxConnections int
	tls            *tls.Config
}

// serving counts the requests that are being answered, until it has ended: then no other
// begins.
type serving struct {
	sync.WaitGroup
	mu struct {
		sync.Mutex
		ended bool
	}
}

// begin reports whether a request may be answered. Done is to be called then.
func (s *serving) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.ended {
		s.Add(1)
	}
	return !s.mu.ended
}

// end waits for the requests that are being answered.
func (s *serving) end() {
	s.mu.Lock()
	s.mu.ended = true
	s.mu.Unlock()
	s.Wait()
}

// NewServer makes a Server. It starts nothing; the error says what is missing.
func NewServer(config ServerConfig) (*Server, error) {
	if config.Handler == nil {
		return nil, errors.New("debug: ServerConfig.Handler is needed")
	}
	if config.MaxConnections < 0 {
		return nil, errors.New("debug: ServerConfig.MaxConnections is negative")
	}
	if config.MaxConnections == 0 {
		config.MaxConnections = defaultMaxConnections(maxOpenFiles())
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

// defaultMaxConnections leaves most of the files to the rest of the program. 0 files is
// no bound.
func defaultMaxConnections(files uint64) int {
	if files == 0 {
		return maxConnections
	}
	return int(max(minConnections, min(maxConnections, files/filesPerConnection)))
}

// Run answers the requests that come to a listener until ctx ends, and returns nil
// then. It closes the listener and every connection in any case; the context of a
// request that is being answered ends with its connection, and with ctx, and Run waits for
// each, also for those that have taken over their connection. A second call returns
// runtime.ErrSecondRun.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	if s.ran.Swap(true) {
		_ = l.Close()
		return fmt.Errorf("debug: %w", runtime.ErrSecondRun)
	}
	ctx, cancel := context.WithCancel(ctx)
	closed := make(chan struct{})
	defer func() { cancel(); <-closed; s.serving.end() }()
	open := newLimitedListener(l, s.maxConnections)
	go func() {
		defer close(closed)
		<-ctx.Done()
		_ = s.http.Close() // It only reads: nothing is lost.
		open.closeAll()    // Close leaves alone those that a handler has taken over.
	}()
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	s.http.ConnContext = withConnection
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

// serveWhileRunning has a handler answer as long as the server runs.
func (s *Server) serveWhileRunning(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.serving.begin() {
			defer s.serving.Done()
			defer recordAnswering(r.Context())()
			handler.ServeHTTP(w, r)
		}
	})
}
