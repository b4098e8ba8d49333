package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// logQuery is the parsed query of a log request.
type logQuery struct {
	runtime.ReadLogRequest
	previous, nothing bool
	limit             int64 // in bytes; zero is no limit
}

// errInvalid is in the error for a query whose values can be parsed but have no meaning.
var errInvalid = errors.New("invalid query")

// serveLog streams the log of a container, as the query requests. With follow it begins the response at once.
// It responds with an error if the query is invalid, the node keeps no logs, there are too many log requests,
// or the container has no log.
func (s *server) serveLog(w http.ResponseWriter, r *http.Request) {
	q, err := parseLogQuery(r.URL.Query(), time.Now())
	switch {
	case errors.Is(err, errInvalid):
		respond.WriteText(w, http.StatusUnprocessableEntity, err.Error()+"\n")
		return
	case err != nil:
		respond.WriteText(w, http.StatusBadRequest, err.Error()+"\n")
		return
	case s.Logs == nil:
		respond.WriteText(w, http.StatusNotImplemented, "this node keeps no logs\n")
		return
	}
	if !s.logs.Enter(w) {
		return
	}
	defer s.logs.Leave()
	q.ContainerID = s.findLogContainerOrRespond(w, r, q.previous)
	if q.ContainerID == "" {
		return
	}
	out := respond.NewStream(w)
	if q.Follow {
		out.Begin() // The client gets a response even if the container prints nothing.
		_ = out.Flush()
	}
	s.sendLog(r.Context(), w, out, q)
}

// sendLog copies a log to the client, or nothing if the query asks for no lines. If the copy fails, it responds
// with the error, or appends the error to the log if the response has begun.
func (s *server) sendLog(ctx context.Context, w http.ResponseWriter, out *respond.Stream, q logQuery) {
	var err error
	if !q.nothing {
		err = s.copyLogOrReturnErrLimit(ctx, q, out)
	}
	switch {
	case err == nil || errors.Is(err, errLimit):
		out.Begin()
	case ctx.Err() != nil: // The client has disconnected.
	case out.Begun:
		_, _ = fmt.Fprintf(out, "%s\n", plain.Text(err.Error())) // The status code was sent before, so the error follows the log.
	default:
		respond.WriteError(w, err)
	}
}

// copyLogOrReturnErrLimit copies a log to out, and returns errLimit when the byte limit of the query is reached. It
// returns a panic of the LogReader as an error.
func (s *server) copyLogOrReturnErrLimit(ctx context.Context, q logQuery, out io.Writer) (err error) {
	defer s.panics.Recover("ReadLog", &err)
	return s.Logs.ReadLog(ctx, q.ReadLogRequest, &limitedWriter{out, cmp.Or(q.limit, int64(-1))})
}

// findLogContainerOrRespond returns the ID of the container that the path names, or the container before it if
// previous is set. If there is none, it responds with an error and returns "".
func (s *server) findLogContainerOrRespond(w http.ResponseWriter, r *http.Request, previous bool) string {
	pod, ok := s.findPodOrRespond(w, r)
	if !ok {
		return ""
	}
	name := r.PathValue("container")
	if !hasContainer(pod, name) {
		respond.WriteText(w, http.StatusNotFound, fmt.Sprintf("container %.63q is not in pod %q\n", name, pod.Name))
		return ""
	}
	id, err := s.logContainerID(r.Context(), pod, name, previous)
	switch {
	case err == nil:
		return id
	case !errors.Is(err, runtime.ErrNotFound):
		respond.WriteError(w, err)
	case previous:
		respond.WriteText(w, http.StatusBadRequest, fmt.Sprintf("previous terminated container %q in pod %q not found\n", name, pod.Name))
	default:
		respond.WriteText(w, http.StatusBadRequest, fmt.Sprintf("container %q in pod %q is waiting to start: %s\n", name, pod.Name, waitingReason(pod, name)))
	}
	return ""
}

// logContainerID returns the ID of the container whose log is requested. Without previous, that is the running
// or terminated container in the pod's status, or else the last terminated one. With previous, it is the last
// terminated one. It returns ErrNotFound if there is none. If the pod's status does not show the container, it
// returns the result of the Finder.
func (s *server) logContainerID(ctx context.Context, pod *v1.Pod, name string, previous bool) (string, error) {
	status, ok := containerStatus(pod, name)
	if !ok {
		return s.Finder.PodContainerID(ctx, pod.UID, name, previous)
	}
	id, last := "", status.LastTerminationState.Terminated
	switch ended := status.State.Terminated; {
	case previous:
	case status.State.Running != nil:
		id = status.ContainerID
	case ended != nil:
		id = ended.ContainerID
	}
	if id == "" && last != nil && (previous || status.State.Running == nil) {
		id = last.ContainerID
	}
	if _, id, ok = strings.Cut(id, "://"); !ok {
		return "", fmt.Errorf("server: container %q has no such instance: %w", name, runtime.ErrNotFound)
	}
	return id, nil
}

// containerStatus returns the status of an init, regular or ephemeral container. It returns false if the pod
// has none.
func containerStatus(pod *v1.Pod, name string) (v1.ContainerStatus, bool) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		if c.Name == name {
			return c, true
		}
	}
	return v1.ContainerStatus{}, false
}

// hasContainer reports whether the spec has an init, regular or ephemeral container of this name.
func hasContainer(pod *v1.Pod, name string) bool {
	named := func(c v1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Spec.Containers, named) || slices.ContainsFunc(pod.Spec.InitContainers, named) ||
		slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == name })
}

// waitingReason returns the reason for which a container waits. It returns ContainerCreating if the status has
// no reason.
func waitingReason(pod *v1.Pod, name string) string {
	if c, _ := containerStatus(pod, name); c.State.Waiting != nil && c.State.Waiting.Reason != "" {
		return c.State.Waiting.Reason
	}
	return "ContainerCreating"
}

// parseLogQuery parses the query of a log request. It limits the number of lines and the age, and converts
// sinceSeconds to a time. A request for zero lines gets no old lines. The error wraps errInvalid if a value has
// the right syntax and is not allowed.
func parseLogQuery(query url.Values, now time.Time) (q logQuery, err error) {
	tail, since := int64(-1), int64(0)
	var at time.Time
	for key, read := range map[string]func(value string) error{
		"follow":       boolParser(&q.Follow),
		"previous":     boolParser(&q.previous),
		"timestamps":   boolParser(&q.Timestamps),
		"tailLines":    intParser(&tail, 0),
		"sinceSeconds": intParser(&since, 1),
		"limitBytes":   intParser(&q.limit, 1),
		"sinceTime":    func(value string) (err error) { at, err = time.Parse(time.RFC3339, value); return err },
		"stream": func(value string) error {
			if value != "All" {
				return fmt.Errorf("%w: this node does not separate the streams of a log", errInvalid)
			}
			return nil
		},
	} {
		value := query.Get(key)
		if value == "" {
			continue
		}
		if err := read(value); err != nil {
			return q, fmt.Errorf("%s=%.40q: %w", key, value, err)
		}
	}
	switch {
	case since > 0 && !at.IsZero():
		return q, fmt.Errorf("%w: only one of sinceSeconds and sinceTime is possible", errInvalid)
	case since > 0:
		at = now.Add(-time.Duration(min(since, int64(maxSince/time.Second))) * time.Second)
	}
	q.Since, q.Tail = at, int(max(0, min(tail, maxLines)))
	if tail == 0 { // No line that was written before.
		q.nothing = !q.Follow
		if q.Since.Before(now) {
			q.Since = now
		}
	}
	return q, nil
}

const (
	// maxSince replaces longer durations, which a time.Duration cannot hold.
	maxSince = 100 * 365 * 24 * time.Hour
	maxLines = 1 << 30
)

// boolParser returns a function that parses a boolean and stores it in place. That function returns an error
// for any other text than a boolean.
func boolParser(place *bool) func(string) error {
	return func(value string) (err error) {
		if *place, err = strconv.ParseBool(value); err != nil {
			return errors.New("expected true or false")
		}
		return nil
	}
}

// intParser returns a function that parses a number and stores it in *place. That function returns an error if the
// text is not a number, or if the number is less than minimum. It has stored the number in the second case too.
func intParser(place *int64, minimum int64) func(string) error {
	return func(value string) (err error) {
		if *place, err = strconv.ParseInt(value, 10, 64); err != nil {
			return errors.New("expected a number")
		}
		if *place < minimum {
			return fmt.Errorf("%w: expected %d or more", errInvalid, minimum)
		}
		return nil
	}
}

// errLimit ends the copy of a log when the limit is reached.
var errLimit = errors.New("limit reached")

// limitedWriter writes a limited number of bytes and then returns errLimit. A negative limit is none.
type limitedWriter struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer. It writes at most the remaining number of bytes, and returns errLimit when none
// is left. With a negative limit it writes everything.
func (l *limitedWriter) Write(p []byte) (n int, err error) {
	if l.left < 0 {
		return l.w.Write(p)
	}
	n, err = l.w.Write(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	if err == nil && l.left == 0 {
		err = errLimit
	}
	return n, err
}
