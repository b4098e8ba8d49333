package respond

import (
	"errors"
	"net/http"
	"time"
)

// writeTimeout is how long a client may accept no data.
const writeTimeout = 30 * time.Second

// Stream is a text answer that is sent in pieces. The first piece, a text or an error, sets the status code.
type Stream struct {
	// Begun is true if the header was sent.
	Begun bool

	w   http.ResponseWriter
	out *http.ResponseController
}

// NewStream returns a Stream that has sent nothing.
func NewStream(w http.ResponseWriter) *Stream {
	return &Stream{w: w, out: http.NewResponseController(w)}
}

// Begin sends the header, once.
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

// Write implements io.Writer. Each call has its own timeout, because the whole answer has no time limit.
func (s *Stream) Write(p []byte) (int, error) {
	s.Extend()
	s.Begin()
	n, err := s.w.Write(p)
	if err == nil {
		err = s.Flush()
	}
	return n, err
}

// Flush sends the buffered data.
func (s *Stream) Flush() error {
	if err := s.out.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// Extend restarts the write timeout.
func (s *Stream) Extend() {
	_ = s.out.SetWriteDeadline(time.Now().Add(writeTimeout)) // A writer that does not support deadlines has no timeout.
}
