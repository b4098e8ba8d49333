package podsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// Bounds of a termination message (KC-9).
const (
	maxMessage      = 4096 // the last bytes of the file
	maxLogMessage   = 2048 // the last bytes of the log
	logMessageLines = 80
)

// statusWithTerminationMessages returns the observed status, or a copy of it with the termination messages of
// exited containers. The text about killed processes comes first. It reads each message once and stores it. If
// a message cannot be read, the copy has the error as the message, and the next call reads again. Messages of
// removed containers are dropped.
func (w *statusWriter) statusWithTerminationMessages(ctx context.Context) *runtime.PodStatus {
	var withMessages *runtime.PodStatus
	var read map[string]string
	for i := range w.status.Containers {
		record := &w.status.Containers[i]
		message, known := w.incarnation.messages[record.ID]
		if !known {
			message, known = w.readTerminationMessage(ctx, record)
		}
		if known {
			if read == nil {
				read = make(map[string]string)
			}
			read[record.ID] = message
		}
		if text := w.textAboutKilledProcesses(record.ID); text != "" {
			message = strings.TrimSuffix(joinMessages(text, message), ": ")
		}
		if message == "" {
			continue
		}
		if withMessages == nil {
			withMessages = new(*w.status)
			withMessages.Containers = slices.Clone(w.status.Containers)
		}
		withMessages.Containers[i].Message = joinMessages(record.Message, message)
	}
	w.incarnation.messages = read // This drops the messages of containers that have no record.
	return cmp.Or(withMessages, w.status)
}

// joinMessages returns both messages with ": " between them. If message is empty, it returns only more.
func joinMessages(message, more string) string {
	if message == "" {
		return more
	}
	return message + ": " + more
}

// readTerminationMessage returns the termination message of an exited container of this pod, from its file or,
// if that is empty, from its log. If known is false, the container has not exited or the message could not be
// read; message may then describe the error.
func (w *statusWriter) readTerminationMessage(ctx context.Context, record *runtime.ContainerStatus) (message string, known bool) {
	c := w.exitedContainerSpec(record)
	if c == nil {
		return "", false
	}
	message, err := w.readMessageFromFile(c, record)
	if err == nil && message == "" {
		message, err = w.readMessageFromLog(ctx, c, record)
	}
	switch {
	case isCancelled(ctx, err):
		return "", false
	case err != nil:
		return "the termination message cannot be read: " + err.Error(), false
	}
	return message, true
}

// exitedContainerSpec returns the spec of the container in a record. It returns nil if the container has not
// exited, belongs to a former pod with this UID, or is not in the spec.
func (w *statusWriter) exitedContainerSpec(record *runtime.ContainerStatus) *v1.Container {
	if record.State != runtime.StateExited || record.Incarnation != w.incarnation.number {
		return nil
	}
	return podspec.FindContainer(podspec.AllAndEphemeralContainers(w.pod), record.Name)
}

// hasUnreadMessage reports whether an exited container of this pod has a termination message that was not read
// successfully yet.
func (w *statusWriter) hasUnreadMessage() bool {
	for i := range w.status.Containers {
		record := &w.status.Containers[i]
		if _, known := w.incarnation.messages[record.ID]; !known && w.exitedContainerSpec(record) != nil {
			return true
		}
	}
	return false
}

// readMessageFromFile returns the last maxMessage bytes of the container's termination message file. It returns
// "" if Config.Files is not set, or if the container mounts something else at the path of that file.
func (w *statusWriter) readMessageFromFile(c *v1.Container, record *runtime.ContainerStatus) (string, error) {
	if w.cfg.Files == nil || request.HasMountAt(c, request.TerminationMessagePath(c)) {
		return "", nil
	}
	text, err := w.cfg.Files.ReadTerminationLog(w.pod.UID, record.Name, record.Attempt, maxMessage)
	if err != nil {
		return "", err
	}
	return validUTF8Tail(text, maxMessage), nil
}

// readMessageFromLog returns the end of the log of a container that failed, if its terminationMessagePolicy is
// FallbackToLogsOnError. It returns "" for any other container, for one that could not be started, and if the
// runtime has no log.
func (w *statusWriter) readMessageFromLog(ctx context.Context, c *v1.Container, record *runtime.ContainerStatus) (string, error) {
	logs := w.runtimeFeatures().LogReader
	if logs == nil || record.ExitCode == 0 || record.Reason == string(podstatus.ReasonContainerCannotRun) ||

		c.TerminationMessagePolicy != v1.TerminationMessageFallbackToLogsOnError {
		return "", nil
	}
	end := tailWriter{limit: maxLogMessage}
	err := w.callWithTimeout(ctx, w.cfg.CallTimeout, func(ctx context.Context) error {
		return logs.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: record.ID, Tail: logMessageLines}, &end)
	})
	switch {
	case errors.Is(err, runtime.ErrNotFound), errors.Is(err, runtime.ErrUnsupported):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("log: %w", err)
	}
	return validUTF8Tail(end.lastBytes(), maxLogMessage), nil
}

// tailWriter is an io.Writer that keeps the last bytes of its input.
type tailWriter struct {
	limit int
	bytes []byte
}

// Write implements io.Writer.
func (t *tailWriter) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(n-t.limit, 0):]
	if len(t.bytes)+len(p) > 2*t.limit {
		t.bytes = append(t.bytes[:0], t.lastBytes()...)
	}
	t.bytes = append(t.bytes, p...)
	return n, nil
}

// lastBytes returns the last bytes that were written, at most limit.
func (t *tailWriter) lastBytes() []byte { return t.bytes[max(len(t.bytes)-t.limit, 0):] }

// validUTF8Tail returns the last limit bytes of a text without the bytes that are invalid UTF-8.
func validUTF8Tail(text []byte, limit int) string {
	return strings.ToValidUTF8(string(text[max(len(text)-limit, 0):]), "")
}

// createTerminationLogMount creates the file for the termination message of a container and returns its mount.
// It returns nil and creates nothing if Config.Files is not set, or if the container mounts something else at
// that path (KC-8).
func (st *containerStart) createTerminationLogMount() ([]runtime.Mount, error) {
	at := request.TerminationMessagePath(st.Container)
	if st.cfg.Files == nil || request.HasMountAt(st.Container, at) {
		return nil, nil
	}
	file, err := st.cfg.Files.TerminationLog(st.pod, st.Name, st.Attempt)
	if err != nil {
		return nil, fmt.Errorf("the file for the termination message: %w", err)
	}
	return []runtime.Mount{{ContainerPath: at, HostPath: file}}, nil
}
