package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	// maxListedPods bounds a list of pods, because the table keeps a row for each. listLimit bounds its size in bytes,
	// because the server may not be an agent.
	maxListedPods = 100_000
	listLimit     = 512 << 20
)

// forEachPod requests the list of the agent's pods and calls visit for each pod as it arrives, so that only one
// pod is in memory. It returns an error if the list has more than maxListedPods pods or listLimit bytes.
func (c client) forEachPod(ctx context.Context, visit func(*v1.Pod)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := time.AfterFunc(clientTimeout, func() { cancel(context.DeadlineExceeded) })
	defer timeout.Stop()
	answer, err := c.sendRequest(ctx, http.MethodGet, nil, "pods")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body := &boundedReader{reader: answer.Body, itemBytesLeft: clientLimit, totalBytesLeft: listLimit, onRead: func() { timeout.Reset(clientTimeout) }}
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(body) // The beginning of the body is enough for the error.
		return errors.New(strings.TrimSpace(string(why)))
	}
	if err := decodePods(body, visit); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("the answer of %s is not a list of pods: %w", c.server, err)
	}
	return nil
}

// decodePods decodes a v1.PodList and calls visit for each pod. It returns an error if the list has more than
// maxListedPods pods.
func decodePods(body *boundedReader, visit func(*v1.Pod)) error {
	d := json.NewDecoder(body)
	if err := readExpectedToken(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "items" {
			if err := d.Decode(new(json.RawMessage)); err != nil {
				return err
			}
			continue
		}
		if err := readExpectedToken(d, json.Delim('[')); err != nil {
			return err
		}
		for n := 0; d.More(); n++ {
			if n == maxListedPods {
				return errTooMany
			}
			body.itemBytesLeft = clientLimit
			pod := &v1.Pod{}
			if err := d.Decode(pod); err != nil {
				return err
			}
			visit(pod)
		}
		if err := readExpectedToken(d, json.Delim(']')); err != nil {
			return err
		}
	}
	return readExpectedToken(d, json.Delim('}'))
}

// readExpectedToken reads the next JSON token. It returns an error if the token differs from expected.
func readExpectedToken(d *json.Decoder, expected json.Token) error {
	switch token, err := d.Token(); {
	case err != nil:
		return err
	case token != expected:
		return fmt.Errorf("expected %v, not %v", expected, token)
	}
	return nil
}

// boundedReader is a reader that fails if one item, or the whole response, is too long. It calls onRead after each
// read.
type boundedReader struct {
	reader                        io.Reader
	itemBytesLeft, totalBytesLeft int64
	onRead                        func()
}

// errTooLong means that an item is too long, errTooMany that a list is.
var (
	errTooLong = fmt.Errorf("it is longer than %d MiB", clientLimit>>20)
	errTooMany = fmt.Errorf("it has more than %d pods, or %d MiB", maxListedPods, listLimit>>20)
)

// Read implements io.Reader. It returns errTooLong after the limit of one pod, and errTooMany after the limit
// of the list.
func (l *boundedReader) Read(p []byte) (int, error) {
	switch {
	case l.itemBytesLeft <= 0:
		return 0, errTooLong
	case l.totalBytesLeft <= 0:
		return 0, errTooMany
	}
	n, err := l.reader.Read(p[:min(int64(len(p)), l.itemBytesLeft, l.totalBytesLeft)])
	l.itemBytesLeft, l.totalBytesLeft = l.itemBytesLeft-int64(n), l.totalBytesLeft-int64(n)
	l.onRead()
	return n, err
}
