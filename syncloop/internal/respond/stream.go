package respond

import (
	"errors"
	"net/http"
	"time"
)

// writeTimeout is how long a client may take nothing.
const writeTimeout = 30 * time.Second

// Stream is an answer of text that is sent as it comes. Its status is decided by the first
// thing that comes: text, or an error.
type Stream struct {
	// Begun says that the header was sent.
	Begun bool

	w   http.ResponseWriter
	out *http.ResponseController
}

// NewStream makes a Stream, of which nothing is sent yet.
func NewStream(w http.ResponseWriter) *Stream {
	return &Stream{w: w, out: http.NewResponseController(w)}
}

// Begin sends what comes before the text, once.
func (s *Stream) Begin() {
	if s.Begun {
		return
	}
	s.Begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	s.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer. Each call has its own time, as an answer may go on for ever.
func (s *Stream) Write(p []byte) (int, error) {
	s.Extend()
	s.Begin()
	n, err := s.w.Write(p)
	if err == nil {
		err = s.Flush()
	}
	return n, err
}

// Flush sends what was written.
func (s *Stream) Flush() error {
	if err := s.out.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// Extend gives the client as much time again.
func (s *Stream) Extend() {
	_ = s.out.SetWriteDeadline(time.Now().Add(writeTimeout)) // A writer without deadlines stays without one.
}
