package debug

import (
	"errors"
	"net/http"
	"time"

	"github.com/podkeel/podkeel/internal/plain"
)

const (
	// ExitCodeTrailer comes after the output of a command, with the code with which
	// it ended.
	ExitCodeTrailer = "Podkeel-Exit-Code"
	// ErrorTrailer comes after a log or an output that is not whole, and says why.
	ErrorTrailer = "Podkeel-Error"

	// stuck is how long a reader may take nothing.
	stuck = 30 * time.Second
)

// stream is an answer that is sent as it comes. Its status is decided by the first
// thing that comes: text, or an error.
type stream struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	begun bool
}

func newStream(w http.ResponseWriter) *stream {
	return &stream{w: w, out: http.NewResponseController(w)}
}

// begin sends what comes before the text.
func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Trailer", ErrorTrailer+", "+ExitCodeTrailer)
	s.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer. Each call has its own time, as an answer may go on
// for ever.
func (s *stream) Write(p []byte) (int, error) {
	_ = s.out.SetWriteDeadline(time.Now().Add(stuck)) // Whoever cannot has a bound of his own.
	s.begin()
	n, err := s.w.Write(p)
	if err == nil {
		if err = s.out.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	return n, err
}

// end says how it ended, in the way that is left.
func (s *stream) end(err error) {
	_ = s.out.SetWriteDeadline(time.Now().Add(stuck))
	switch {
	case err == nil:
		s.begin()
	case s.begun:
		s.w.Header().Set(ErrorTrailer, oneLine(err))
	default:
		refuse(s.w, err)
	}
}

// oneLine is an error as a header may have it.
func oneLine(err error) string {
	text := []byte(plain.Text(err.Error()))
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return string(text[:min(len(text), 1000)])
}
