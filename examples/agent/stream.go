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
	// mostPods bounds a list of pods, of which the table keeps a row each, and listLimit its bytes:
	// what answers may be no agent.
	mostPods  = 100_000
	listLimit = 512 << 20
)

// pods calls a func for each pod of an agent, as they come: one is held at a time. A list beyond
// mostPods or listLimit is an error.
func (c client) pods(ctx context.Context, each func(*v1.Pod)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(clientTimeout, func() { cancel(context.DeadlineExceeded) })
	defer silent.Stop()
	answer, err := c.ask(ctx, http.MethodGet, nil, "pods")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body := &limited{from: answer.Body, left: clientLimit, all: listLimit, heard: func() { silent.Reset(clientTimeout) }}
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(body) // What has come is all there is to say.
		return errors.New(strings.TrimSpace(string(why)))
	}
	if err := eachPod(body, each); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("the answer of %s is no list of pods: %w", c.server, err)
	}
	return nil
}

// eachPod reads a v1.PodList item by item.
func eachPod(body *limited, each func(*v1.Pod)) error {
	d := json.NewDecoder(body)
	if err := want(d, json.Delim('{')); err != nil {
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
		if err := want(d, json.Delim('[')); err != nil {
			return err
		}
		for n := 0; d.More(); n++ {
			if n == mostPods {
				return errTooMany
			}
			body.left = clientLimit
			pod := &v1.Pod{}
			if err := d.Decode(pod); err != nil {
				return err
			}
			each(pod)
		}
		if err := want(d, json.Delim(']')); err != nil {
			return err
		}
	}
	return want(d, json.Delim('}'))
}

// want reads one token.
func want(d *json.Decoder, expected json.Token) error {
	switch token, err := d.Token(); {
	case err != nil:
		return err
	case token != expected:
		return fmt.Errorf("expected %v, not %v", expected, token)
	}
	return nil
}

// limited is a reader that fails where a part of an answer is too long, or all of it, and tells
// when something has come.
type limited struct {
	from      io.Reader
	left, all int64
	heard     func()
}

// errTooLong is a part of an answer that is longer than any could be, errTooMany a list.
var (
	errTooLong = fmt.Errorf("it is longer than %d MiB", clientLimit>>20)
	errTooMany = fmt.Errorf("it has more than %d pods, or %d MiB", mostPods, listLimit>>20)
)

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	switch {
	case l.left <= 0:
		return 0, errTooLong
	case l.all <= 0:
		return 0, errTooMany
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left, l.all)])
	l.left, l.all = l.left-int64(n), l.all-int64(n)
	l.heard()
	return n, err
}
