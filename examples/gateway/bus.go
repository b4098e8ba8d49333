package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// bus is the connection to the message bus.
type bus interface {
	// receiveMessage returns the next message. It blocks, and returns an error if ctx is done or the bus has closed for
	// ever. A bus acknowledges a message only when receiveMessage is called again: then the program has handled it. A
	// message that the process has not handled is lost with the process, and the bus must deliver it again.
	receiveMessage(ctx context.Context) (message, error)
	// reportPod sends the state of a pod. An error is not repeated: the next state of the pod replaces it. A bus that must
	// get each last state queues it and retries, or the program sets node.Config.Statuses.Sink. state.Pod.Status is the
	// whole v1.PodStatus. state.Gone is true in the last state of a pod: there a bus clears a retained message.
	reportPod(state node.PodState) error
}

// message applies or deletes one pod.
type message struct {
	Apply  json.RawMessage `json:"apply,omitempty"`  // a v1.Pod
	Delete string          `json:"delete,omitempty"` // NAMESPACE/NAME
}

// checkFields returns an error unless the message has exactly one of its fields.
func (m message) checkFields() error {
	switch {
	case len(m.Apply) == 0 && m.Delete == "":
		return errors.New(`the message is ignored: it has neither "apply" nor "delete"`)
	case len(m.Apply) > 0 && m.Delete != "":
		return errors.New(`the message is ignored: it has both "apply" and "delete"`)
	}
	return nil
}

// parsePod returns the pod that the message applies, with its defaults and without a UID. It returns an error that names
// every fault.
func (m message) parsePod() (*v1.Pod, error) {
	pods, err := manifest.Decode(m.Apply)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("the message has %d pods, expected one", len(pods))
	}
	return pods[0], nil
}

// parseAddress returns the namespace and the name of the pod that the message deletes. It returns an error if one of them
// is no valid name.
func (m message) parseAddress() (namespace, name string, err error) {
	namespace, name, found := strings.Cut(m.Delete, "/")
	if !found || len(utilvalidation.IsDNS1123Label(namespace)) > 0 || len(utilvalidation.IsDNS1123Subdomain(name)) > 0 {
		return "", "", fmt.Errorf("nothing is deleted: %.300q is no address of a pod, expected NAMESPACE/NAME, as default/web", m.Delete)
	}
	return namespace, name, nil
}

// lines is a bus of lines. The lines that it has read and the process has not received are lost with the process.
type lines struct {
	messages chan message
	out      io.Writer
}

// maxLine is the longest line in bytes, with its line break.
const maxLine = 1 << 20

// newLines returns a bus that reads in and writes to out. It reads in a goroutine that ends with in. A line that is not
// JSON or is longer than maxLine is passed to reportInvalid and skipped.
func newLines(in io.Reader, out io.Writer, reportInvalid func(error)) *lines {
	l := &lines{messages: make(chan message), out: out}
	go func() {
		defer close(l.messages)
		reader := bufio.NewReaderSize(in, maxLine)
		for {
			line, err := readLine(reader)
			if errors.Is(err, errLongLine) {
				reportInvalid(err)
				continue
			}
			if len(line) > 0 {
				var m message
				if err := json.Unmarshal(line, &m); err != nil {
					reportInvalid(fmt.Errorf("it is not JSON of a message: %w", err))
				} else {
					l.messages <- m
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					reportInvalid(err)
				}
				return
			}
		}
	}()
	return l
}

// errLongLine is the error of a line that does not fit into the reader.
var errLongLine = fmt.Errorf("it has more than %d bytes", maxLine)

// readLine returns the next line. The line is valid until the next call. The last line has no line break, and comes with
// io.EOF or another error of the reader. For a line that is larger than the buffer of the reader, readLine discards the
// line and returns errLongLine. If that line is the last one, the next call returns the error of the reader.
func readLine(reader *bufio.Reader) ([]byte, error) {
	line, err := reader.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = reader.ReadSlice('\n')
	}
	return nil, errLongLine
}

// receiveMessage implements bus.
func (l *lines) receiveMessage(ctx context.Context) (message, error) {
	select {
	case m, open := <-l.messages:
		if !open {
			return message{}, io.EOF
		}
		return m, nil
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}

// reportPod implements bus.
func (l *lines) reportPod(state node.PodState) error {
	_, err := fmt.Fprintf(l.out, "%s/%s %s\n", state.Pod.Namespace, state.Pod.Name, state.Summary())
	return err
}
