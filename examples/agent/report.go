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

// problemLogger returns a function that logs the problem of a manifest, one line for each fault.
func problemLogger(log *slog.Logger) func(manifest.Problem) {
	return func(p manifest.Problem) {
		for line := range strings.SplitSeq(p.String(), "\n") {
			log.Warn("a manifest has a problem", "fault", line, "effect", p.Effect())
		}
	}
}

// resolvedLogger returns a function that logs that the problem of a manifest is resolved.
func resolvedLogger(log *slog.Logger) func(source.Fault) {
	return func(f source.Fault) {
		log.Info("a problem of a manifest is resolved", "fault", plain.Visible(f.String()))
	}
}

// eventPrinter prints the events of pods, one line each, as far as its limiter allows. With a log in JSON the events
// become records of the log.
type eventPrinter struct {
	out io.Writer    // nil: events are not printed
	log *slog.Logger // if not nil, used instead of out
	now func() time.Time

	mu     sync.Mutex
	digest eventLimiter
}

// Event implements runtime.EventRecorder.
func (e *eventPrinter) Event(object k8sruntime.Object, eventtype, reason, message string) {
	what := event{kind: plain.Visible(eventtype), pod: "?", reason: plain.Visible(reason), message: visibleOneLine(message)}
	if o, ok := object.(*v1.ObjectReference); ok {
		what.pod, what.uid = strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), string(o.UID)
	} else if o, err := meta.Accessor(object); err == nil {
		what.pod, what.uid = o.GetNamespace()+"/"+o.GetName(), string(o.GetUID())
	}
	what.pod = plain.Visible(what.pod)
	e.printOrLogIfAllowed(what)
}

// visibleOneLine replaces line breaks by semicolons and escapes control characters. Events contain output of
// containers, which must not control the terminal.
func visibleOneLine(text string) string {
	return plain.Visible(strings.ReplaceAll(text, "\n", "; "))
}

// Eventf implements runtime.EventRecorder.
func (e *eventPrinter) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	e.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

// printOrLogIfAllowed prints an event, or logs it if the log format is JSON. It drops the event if events are
// disabled or its pod has too many events.
func (e *eventPrinter) printOrLogIfAllowed(what event) {
	if e.out == nil && e.log == nil {
		return
	}
	e.mu.Lock()
	line, ok := e.digest.countAndFormatIfAllowed(what, e.now())
	e.mu.Unlock()
	switch {
	case !ok:
	case e.log != nil:
		e.log.Info("event", "type", what.kind, "reason", what.reason, "pod", what.pod, "message", what.message)
	default:
		_, _ = io.WriteString(e.out, line+"\n") // If the output is closed, the node continues.
	}
}
