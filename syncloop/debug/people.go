package debug

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/runtime"
)

const (
	// ExitCodeTrailer comes after the output of a command, with the code with which
	// it ended.
	ExitCodeTrailer = "Podkeel-Exit-Code"
	// ErrorTrailer comes after a log or an output that is not whole, and says why.
	ErrorTrailer = "Podkeel-Error"

	// mostReaders is how many logs are read at once.
	mostReaders = 64
	// mostCommands is how many commands run at once.
	mostCommands = 16
	// stuck is how long a reader may take nothing.
	stuck = 30 * time.Second
)

// finder finds containers for people.
type finder interface {
	// ContainerID finds the container of a pod that was made last, or with previous
	// the one before it. Without its name it is the one that people mean. An error
	// that wraps runtime.ErrNotFound says what is not there.
	ContainerID(ctx context.Context, namespace, pod, container string, previous bool) (string, error)
}

// container is what the path names, as far as anything could be called so.
func container(r *http.Request) (namespace, pod, name string, ok bool) {
	namespace, pod, name = r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	ok = isName(namespace) && isName(pod) && (name == "" || len(validation.IsDNS1123Label(name)) == 0)
	return namespace, pod, name, ok
}

// found finds the container that the path names, or answers why not.
func found(w http.ResponseWriter, r *http.Request, f finder, previous bool) (id string, ok bool) {
	namespace, pod, name, ok := container(r)
	if !ok {
		say(w, http.StatusNotFound, "nothing could be called so; /pods lists the pods there are\n")
		return "", false
	}
	id, err := f.ContainerID(r.Context(), namespace, pod, name, previous)
	if err != nil {
		refuse(w, err)
		return "", false
	}
	return id, true
}

// refuse answers with an error, and with a status that fits.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, runtime.ErrNotFound):
		code = http.StatusNotFound
	case errors.Is(err, runtime.ErrWrongState):
		code = http.StatusConflict
	case errors.Is(err, runtime.ErrUnsupported):
		code = http.StatusNotImplemented
	case errors.Is(err, runtime.ErrNotReady):
		code = http.StatusServiceUnavailable
	}
	say(w, code, err.Error()+"\n")
}

// gate lets so many in at once.
type gate struct {
	inside atomic.Int32
	most   int32
}

// enter reports whether there is room; who has entered leaves.
func (g *gate) enter(w http.ResponseWriter) bool {
	if g.inside.Add(1) <= g.most {
		return true
	}
	g.leave()
	say(w, http.StatusServiceUnavailable, fmt.Sprintf("%d of these are under way already: end one\n", g.most))
	return false
}

func (g *gate) leave() { g.inside.Add(-1) }

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
	text := []byte(err.Error())
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return string(text[:min(len(text), 1000)])
}

var _ io.Writer = (*stream)(nil)
