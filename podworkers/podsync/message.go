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

// How much of a termination message is read (KC-9).
const (
	maxMessage      = 4096 // bytes of its file, from the end
	maxLogMessage   = 2048 // bytes of its log, from the end
	logMessageLines = 80
)

// statusWithMessages returns the observed status with the termination messages of the containers that
// have exited. Each message is read once and then remembered. An error takes the place of a message that
// cannot be read, and the next call reads it again. A status with messages is a copy: others read the
// observed one.
func (w *statusWriter) statusWithMessages(ctx context.Context) *runtime.PodStatus {
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
		if message == "" {
			continue
		}
		if withMessages == nil {
			withMessages = new(*w.status)
			withMessages.Containers = slices.Clone(w.status.Containers)
		}
		withMessages.Containers[i].Message = joinMessages(record.Message, message)
	}
	w.incarnation.messages = read // Without containers whose records are gone.
	return cmp.Or(withMessages, w.status)
}

func joinMessages(message, more string) string {
	if message == "" {
		return more
	}
	return message + ": " + more
}

// readTerminationMessage returns the termination message of a container of this incarnation. known is
// false if there is none yet, or if it could not be read.
func (w *statusWriter) readTerminationMessage(ctx context.Context, record *runtime.ContainerStatus) (message string, known bool) {
	c := w.exitedContainer(record)
	if c == nil {
		return "", false
	}
	message, err := w.readMessageFile(c, record)
	if err == nil && message == "" {
		message, err = w.readMessageLog(ctx, c, record)
	}
	switch {
	case isCancelled(ctx, err):
		return "", false
	case err != nil:
		return "the termination message cannot be read: " + err.Error(), false
	}
	return message, true
}

// exitedContainer returns the spec of a container that has exited and may have a termination message, or
// nil.
func (w *statusWriter) exitedContainer(record *runtime.ContainerStatus) *v1.Container {
	if record.State != runtime.StateExited || record.Incarnation != w.incarnation.number {
		return nil
	}
	return podspec.FindContainer(podspec.AllAndEphemeralContainers(w.pod), record.Name)
}

// hasUnreadMessage reports whether a termination message could not be read.
func (w *statusWriter) hasUnreadMessage() bool {
	for i := range w.status.Containers {
		record := &w.status.Containers[i]
		if _, known := w.incarnation.messages[record.ID]; !known && w.exitedContainer(record) != nil {
			return true
		}
	}
	return false
}

// readMessageFile returns the message that a container wrote into its file.
func (w *statusWriter) readMessageFile(c *v1.Container, record *runtime.ContainerStatus) (string, error) {
	if w.cfg.Files == nil || request.IsMounted(c, request.MessagePath(c)) {
		return "", nil
	}
	text, err := w.cfg.Files.ReadTerminationLog(w.pod.UID, record.Name, record.Attempt, maxMessage)
	if err != nil {
		return "", err
	}
	return validUTF8End(text, maxMessage), nil
}

// readMessageLog returns the end of the log of a container, if its policy uses the log instead of the
// file.
func (w *statusWriter) readMessageLog(ctx context.Context, c *v1.Container, record *runtime.ContainerStatus) (string, error) {
	logs := w.runtimeFeatures().LogReader
	if logs == nil || record.ExitCode == 0 || record.Reason == string(podstatus.ReasonContainerCannotRun) || // its log says nothing

		c.TerminationMessagePolicy != v1.TerminationMessageFallbackToLogsOnError {
		return "", nil
	}
	end := tail{limit: maxLogMessage}
	err := w.callWithTimeout(ctx, w.cfg.CallTimeout, func(ctx context.Context) error {
		return logs.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: record.ID, Tail: logMessageLines}, &end)
	})
	switch {
	case errors.Is(err, runtime.ErrNotFound), errors.Is(err, runtime.ErrUnsupported):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("log: %w", err)
	}
	return validUTF8End(end.last(), maxLogMessage), nil
}

// tail is an io.Writer that keeps the end of its input.
type tail struct {
	limit int
	bytes []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(n-t.limit, 0):]
	if len(t.bytes)+len(p) > 2*t.limit {
		t.bytes = append(t.bytes[:0], t.last()...)
	}
	t.bytes = append(t.bytes, p...)
	return n, nil
}

func (t *tail) last() []byte { return t.bytes[max(len(t.bytes)-t.limit, 0):] }

// validUTF8End returns the end of a text without invalid UTF-8.
func validUTF8End(text []byte, limit int) string {
	return strings.ToValidUTF8(string(text[max(len(text)-limit, 0):]), "")
}

// messageMount returns the mount of the file for the termination message, unless the container mounts
// something else there (KC-8).
func (st *containerStart) messageMount() ([]runtime.Mount, error) {
	at := request.MessagePath(st.Container)
	if st.cfg.Files == nil || request.IsMounted(st.Container, at) {
		return nil, nil
	}
	file, err := st.cfg.Files.TerminationLog(st.pod, st.Name, st.Attempt)
	if err != nil {
		return nil, fmt.Errorf("the file for the termination message: %w", err)
	}
	return []runtime.Mount{{ContainerPath: at, HostPath: file}}, nil
}
