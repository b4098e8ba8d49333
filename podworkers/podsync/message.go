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

// What is read of the termination message of a container (KC-9).
const (
	maxMessage      = 4096 // bytes of its file, from the end
	maxLogMessage   = 2048 // bytes of its log, from the end
	logMessageLines = 80
)

// listen is what the runtime shows, with the termination message of the containers that
// have ended. They are read once for each container, and then remembered; what
// went wrong is said instead, and tried again with the next call. The status is
// a copy if it has any: others read the one that was observed.
func (s *Syncer) listen(ctx context.Context, v *syncPass) *runtime.PodStatus {
	var said *runtime.PodStatus
	var heard map[string]string
	for i := range v.status.Containers {
		record := &v.status.Containers[i]
		words, known := v.incarnation.messages[record.ID]
		if !known {
			words, known = s.terminationMessage(ctx, v, record)
		}
		if known {
			if heard == nil {
				heard = make(map[string]string)
			}
			heard[record.ID] = words
		}
		if words == "" {
			continue
		}
		if said == nil {
			said = new(*v.status)
			said.Containers = slices.Clone(v.status.Containers)
		}
		said.Containers[i].Message = joined(record.Message, words)
	}
	v.incarnation.messages = heard // Without those whose records are gone.
	return cmp.Or(said, v.status)
}

func joined(message, words string) string {
	if message == "" {
		return words
	}
	return message + ": " + words
}

// terminationMessage is what a container of this incarnation wrote down before it ended. Not
// known: it may be, later.
func (s *Syncer) terminationMessage(ctx context.Context, v *syncPass, record *runtime.ContainerStatus) (words string, known bool) {
	c := v.ended(record)
	if c == nil {
		return "", false
	}
	words, err := s.fileWords(v, c, record)
	if err == nil && words == "" {
		words, err = s.logWords(ctx, c, record)
	}
	switch {
	case cut(ctx, err):
		return "", false
	case err != nil:
		return "the termination message cannot be read: " + err.Error(), false
	}
	return words, true
}

// ended is the container of a record that has ended and may have a termination message. Nil:
// there is none.
func (v *syncPass) ended(record *runtime.ContainerStatus) *v1.Container {
	if record.State != runtime.StateExited || record.Incarnation != v.incarnation.number {
		return nil
	}
	return podspec.Named(podspec.WithEphemeral(v.pod), record.Name)
}

// unread reports whether a termination message could not be read, and is to be tried again.
func (v *syncPass) unread() bool {
	for i := range v.status.Containers {
		record := &v.status.Containers[i]
		if _, known := v.incarnation.messages[record.ID]; !known && v.ended(record) != nil {
			return true
		}
	}
	return false
}

// fileWords is what it wrote into its file.
func (s *Syncer) fileWords(v *syncPass, c *v1.Container, record *runtime.ContainerStatus) (string, error) {
	if s.cfg.Files == nil || request.IsMounted(c, request.MessagePath(c)) {
		return "", nil
	}
	text, err := s.cfg.Files.ReadTerminationLog(v.pod.UID, record.Name, record.Attempt, maxMessage)
	if err != nil {
		return "", err
	}
	return readable(text, maxMessage), nil
}

// logWords is the end of its log, where that is to stand for the file.
func (s *Syncer) logWords(ctx context.Context, c *v1.Container, record *runtime.ContainerStatus) (string, error) {
	if s.logs == nil || record.ExitCode == 0 || record.Reason == string(podstatus.ReasonContainerCannotRun) || // its log says nothing

		c.TerminationMessagePolicy != v1.TerminationMessageFallbackToLogsOnError {
		return "", nil
	}
	end := tail{limit: maxLogMessage}
	err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error {
		return s.logs.ReadLog(ctx, runtime.ReadLogRequest{ContainerID: record.ID, Tail: logMessageLines}, &end)
	})
	switch {
	case errors.Is(err, runtime.ErrNotFound), errors.Is(err, runtime.ErrUnsupported):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("log: %w", err)
	}
	return readable(end.last(), maxLogMessage), nil
}

// tail keeps the end of what is written to it.
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

// readable is the end of a text without what is no UTF-8.
func readable(text []byte, limit int) string {
	return strings.ToValidUTF8(string(text[max(len(text)-limit, 0):]), "")
}

// messageMount gives an attempt at a container the file for its termination message,
// unless it has something of its own there (KC-8).
func (s *Syncer) messageMount(v *syncPass, c *v1.Container, attempt uint32) ([]runtime.Mount, error) {
	at := request.MessagePath(c)
	if s.cfg.Files == nil || request.IsMounted(c, at) {
		return nil, nil
	}
	file, err := s.cfg.Files.TerminationLog(v.pod, c.Name, attempt)
	if err != nil {
		return nil, fmt.Errorf("the file for the termination message: %w", err)
	}
	return []runtime.Mount{{ContainerPath: at, HostPath: file}}, nil
}
