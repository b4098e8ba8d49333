package debug

import (
	"net/http"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

const (
	// ExitCodeTrailer is the trailer with the exit code of a command, after its output.
	ExitCodeTrailer = "Podkeel-Exit-Code"
	// ErrorTrailer is the trailer with the error that cut a log or an output short.
	ErrorTrailer = "Podkeel-Error"
)

// beginStream announces the trailers and returns the stream of a response.
func beginStream(w http.ResponseWriter) *respond.Stream {
	w.Header().Set("Trailer", ErrorTrailer+", "+ExitCodeTrailer)
	return respond.NewStream(w)
}

// endStream reports the error of a stream: in the trailer if the response has begun, or else as the
// response.
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

// headerValue returns the text of an error without control characters, cut to the length of a header
// value.
func headerValue(err error) string {
	text := []byte(plain.Text(err.Error()))
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return string(text[:min(len(text), 1000)])
}
