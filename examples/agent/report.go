package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// reporter tells people what is wrong with a manifest, a line for each fault.
func reporter(log *slog.Logger) func(manifest.Problem) {
	return func(p manifest.Problem) {
		for line := range strings.SplitSeq(p.String(), "\n") {
			log.Warn("trouble with the manifests", "fault", line, "so", consequence(p))
		}
	}
}

// consequence is what a problem means for what runs.
func consequence(p manifest.Problem) string {
	switch {
	case errors.Is(p.Err, manifest.ErrNoWatch):
		return "changes are found a little later"
	case errors.Is(p.Err, manifest.ErrDuplicate):
		return "the other pod of this name runs"
	case errors.Is(p.Err, manifest.ErrListing):
		return "everything stays as it was"
	case errors.Is(p.Err, manifest.ErrNotFile):
		return "it is skipped"
	case p.Kept:
		return "its last good version stays in force"
	}
	return "nothing of this file runs"
}

// events writes the events of pods to the log: warnings for everybody, the rest
// for those who debug.
type events struct{ log *slog.Logger }

// Event is the recorder's method.
func (e events) Event(object k8sruntime.Object, eventtype, reason, message string) {
	level := slog.LevelDebug
	// A back-off is in the table, and comes with each restart.
	if eventtype == v1.EventTypeWarning && reason != "BackOff" {
		level = slog.LevelWarn
	}
	name := "?"
	if o, err := meta.Accessor(object); err == nil {
		name = o.GetNamespace() + "/" + o.GetName()
	}
	e.log.Log(context.Background(), level, "event", "pod", name, "reason", reason, "message", message)
}

// Eventf is the recorder's method.
func (e events) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	e.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}
