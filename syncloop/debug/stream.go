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

// newStreamWithTrailers sets the header that announces the trailers for the error and the exit code, and
// returns the stream of the response.
func newStreamWithTrailers(w http.ResponseWriter) *respond.Stream {
	w.Header().Set("Trailer", ErrorTrailer+", "+ExitCodeTrailer)
	return respond.NewStream(w)
}

// finishStreamOrError ends a streamed response. If err is not nil, it is sent in the trailer if output was
// written before, and as the response if not. Without an error it sends the status code if nothing was written.
func finishStreamOrError(w http.ResponseWriter, s *respond.Stream, err error) {
	s.Extend()
	switch {
	case err == nil:
		s.Begin()
	case s.Begun:
		w.Header().Set(ErrorTrailer, errorHeaderValue(err))
	default:
		w.Header().Del("Trailer")
		respond.WriteError(w, err)
	}
}

// errorHeaderValue returns the text of an error for a header: control characters become spaces, and it is cut
// to 1000 bytes.
func errorHeaderValue(err error) string {
	text := []byte(plain.Text(err.Error()))
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return string(text[:min(len(text), 1000)])
}
