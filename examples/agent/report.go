package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// reporter tells people what is wrong with a manifest, a line for each fault.
func reporter(log *slog.Logger) func(manifest.Problem) {
	return func(p manifest.Problem) {
		for line := range strings.SplitSeq(p.String(), "\n") {
			log.Warn("trouble with the manifests", "fault", line, "effect", p.Effect())
		}
	}
}

// relief tells people that a fault of a manifest is over.
func relief(log *slog.Logger) func(source.Fault) {
	return func(f source.Fault) { log.Info("a fault of the manifests is over", "fault", plain.Visible(f.String())) }
}

// events prints the events of pods, a line each, as far as its digest lets it.
// With a log in JSON they are records of that.
type events struct {
	out io.Writer    // nil: they are not printed
	log *slog.Logger // instead of out
	now func() time.Time

	mu     sync.Mutex
	digest digest
}

// Event is the recorder's method.
func (e *events) Event(object k8sruntime.Object, eventtype, reason, message string) {
	what := event{kind: plain.Visible(eventtype), pod: "?", reason: plain.Visible(reason), message: inOneLine(message)}
	if o, ok := object.(*v1.ObjectReference); ok {
		what.pod, what.uid = strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), string(o.UID)
	} else if o, err := meta.Accessor(object); err == nil {
		what.pod, what.uid = o.GetNamespace()+"/"+o.GetName(), string(o.GetUID())
	}
	what.pod = plain.Visible(what.pod)
	e.print(what)
}

// inOneLine is a text on one line, in which what a terminal takes for more than text is
// escaped: what containers print is in events, and is not to move anybody's cursor.
func inOneLine(text string) string {
	return plain.Visible(strings.ReplaceAll(text, "\n", "; "))
}

// Eventf is the recorder's method.
func (e *events) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	e.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

func (e *events) print(what event) {
	if e.out == nil && e.log == nil {
		return
	}
	e.mu.Lock()
	line, ok := e.digest.line(what, e.now())
	e.mu.Unlock()
	switch {
	case !ok:
	case e.log != nil:
		e.log.Info("event", "type", what.kind, "reason", what.reason, "pod", what.pod, "message", what.message)
	default:
		_, _ = io.WriteString(e.out, line+"\n") // No reader is left: the node continues.
	}
}
