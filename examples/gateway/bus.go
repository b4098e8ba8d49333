package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// bus is the connection to the message bus.
type bus interface {
	// receive returns the next message. It blocks, and returns an error if ctx is done or the bus has closed for ever.
	receive(ctx context.Context) (message, error)
	// report sends the state of a pod. An error is not repeated: the next state of the pod replaces it.
	report(state node.PodState) error
}

// message applies or deletes one pod.
type message struct {
	Apply  json.RawMessage `json:"apply"`  // a v1.Pod
	Delete string          `json:"delete"` // NAMESPACE/NAME
}

// pod returns the pod that the message applies, with its defaults. The pod has the UID of its name, so that each message
// about the name is about the same pod. It returns an error that names every fault.
func (m message) pod() (*v1.Pod, error) {
	pods, err := manifest.Decode(m.Apply)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("the message has %d pods, expected one", len(pods))
	}
	pods[0].UID = node.UIDFromName(pods[0].Namespace, pods[0].Name)
	return pods[0], nil
}

// lines is a bus of lines. The lines that it has read and the process has not received are lost with the process, so a
// real bus deletes a message only after receive has been called again.
type lines struct {
	messages chan message
	out      io.Writer
}

// maxLine is the longest line in bytes.
const maxLine = 1 << 20

// newLines returns a bus that reads in and writes to out. It reads in a goroutine that ends with in. A line that is not
// JSON is passed to invalid and skipped.
func newLines(in io.Reader, out io.Writer, invalid func(error)) *lines {
	l := &lines{messages: make(chan message), out: out}
	go func() {
		defer close(l.messages)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			var m message
			if err := json.Unmarshal(scanner.Bytes(), &m); err != nil {
				invalid(err)
				continue
			}
			l.messages <- m
		}
		if err := scanner.Err(); err != nil {
			invalid(err)
		}
	}()
	return l
}

// receive implements bus.
func (l *lines) receive(ctx context.Context) (message, error) {
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

// report implements bus.
func (l *lines) report(state node.PodState) error {
	_, err := fmt.Fprintf(l.out, "%s/%s %s\n", state.Pod.Namespace, state.Pod.Name, state.Summary())
	return err
}
