package debug

import (
	"net/http"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

const (
	// ExitCodeTrailer comes after the output of a command, with the code with which
	// it ended.
	ExitCodeTrailer = "Podkeel-Exit-Code"
	// ErrorTrailer comes after a log or an output that is not whole, and says why.
	ErrorTrailer = "Podkeel-Error"
)

// beginStream begins an answer with trailers.
func beginStream(w http.ResponseWriter) *respond.Stream {
	w.Header().Set("Trailer", ErrorTrailer+", "+ExitCodeTrailer)
	return respond.NewStream(w)
}

// endStream says how an answer ended, in the way that is left.
func endStream(w http.ResponseWriter, s *respond.Stream, err error) {
	s.Extend()
	switch {
	case err == nil:
		s.Begin()
	case s.Begun:
		w.Header().Set(ErrorTrailer, headerValue(err))
	default:
		w.Header().Del("Trailer")
		respond.WriteError(w, err)
	}
}

// headerValue is an error as a header may have it.
func headerValue(err error) string {
	text := []byte(plain.Text(err.Error()))
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return string(text[:min(len(text), 1000)])
}
