package streaming

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/podkeel/podkeel/runtime"
)

// Process connects the streams of a process with those of the caller, until it has
// ended, and returns its exit code. The address was asked for with a terminal or
// without, with input if Streams has one, with stdout always, and with stderr
// unless there is a terminal.
func Process(ctx context.Context, dial Dial, address string, tty bool, streams runtime.Streams) (int32, error) {
	c, err := connect(ctx, dial, address, remotecommand.StreamProtocolV4Name)
	if err != nil {
		return 0, err
	}
	defer c.end()
	defer context.AfterFunc(ctx, c.end)()
	p := &process{streams: streams}
	if err := p.open(ctx, c, tty); err != nil {
		return 0, err
	}
	code, err := p.run(ctx, c)
	if ended := ctx.Err(); ended != nil {
		return 0, fmt.Errorf("streaming: %w", ended)
	}
	return code, err
}

// process is one whose streams are open.
type process struct {
	streams                              runtime.Streams
	status, stdin, stdout, stderr, sizes httpstream.Stream
}

// open opens the streams. The order is free; the server waits for all.
func (p *process) open(ctx context.Context, c *connection, tty bool) error {
	kinds, places := []string{v1.StreamTypeError, v1.StreamTypeStdout}, []*httpstream.Stream{&p.status, &p.stdout}
	add := func(kind string, place *httpstream.Stream, wanted bool) {
		if wanted {
			kinds, places = append(kinds, kind), append(places, place)
		}
	}
	add(v1.StreamTypeStdin, &p.stdin, p.streams.Stdin != nil)
	add(v1.StreamTypeStderr, &p.stderr, !tty)
	add(v1.StreamTypeResize, &p.sizes, tty)
	var headers []http.Header
	for _, kind := range kinds {
		headers = append(headers, http.Header{http.CanonicalHeaderKey(v1.StreamType): {kind}})
	}
	opened, err := c.streams(ctx, headers)
	if err != nil {
		return err
	}
	for i, place := range places {
		*place = opened[i]
	}
	return nil
}

// run copies until the process has said how it ended and all that it printed has
// been taken.
func (p *process) run(ctx context.Context, c *connection) (int32, error) {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer c.end()
	defer cancel()
	if p.stdin != nil {
		go func() { // A Read that has begun holds up nobody.
			_, _ = io.Copy(p.stdin, p.streams.Stdin) // A process that reads no more is no error.
			_ = p.stdin.Close()
		}()
	}
	if p.sizes != nil && p.streams.Resized != nil {
		others.Go(func() { resize(ctx, p.sizes, p.streams.Resized) })
	}
	var errs [3]error
	var printed sync.WaitGroup
	printed.Go(func() { errs[0] = take(c, p.stdout, p.streams.Stdout) })
	printed.Go(func() { errs[1] = take(c, p.stderr, p.streams.Stderr) })
	end, err := said(p.status)
	printed.Wait()
	errs[2] = err
	if err := errors.Join(errs[:]...); err != nil {
		return 0, err
	}
	return exitCode(end)
}

// take copies what a process prints on one of its streams, if it has it.
func take(c *connection, from httpstream.Stream, to io.Writer) error {
	if from == nil {
		return nil
	}
	to = cmp.Or(to, io.Discard)
	if _, err := io.Copy(to, from); err != nil {
		c.end() // Nobody would take the rest.
		return fmt.Errorf("streaming: output: %w", err)
	}
	return nil
}

// resize passes sizes on as they come.
func resize(ctx context.Context, to io.Writer, next func(context.Context) (runtime.TerminalSize, bool)) {
	out := json.NewEncoder(to)
	for {
		size, ok := next(ctx)
		if !ok {
			return
		}
		if out.Encode(struct{ Width, Height uint16 }{size.Columns, size.Rows}) != nil {
			return // It has ended.
		}
	}
}

// exitCode reads how a process has ended.
func exitCode(end []byte) (int32, error) {
	if len(end) == 0 {
		return 0, fmt.Errorf("streaming: %w: the connection broke before the process had ended", runtime.ErrNotReady)
	}
	var status metav1.Status
	if err := json.Unmarshal(end, &status); err != nil {
		return 0, fmt.Errorf("streaming: how the process ended cannot be read: %w", err)
	}
	switch {
	case status.Status == metav1.StatusSuccess:
		return 0, nil
	case status.Reason == remotecommand.NonZeroExitCodeReason && status.Details != nil:
		for _, cause := range status.Details.Causes {
			if cause.Type == remotecommand.ExitCodeCauseType {
				code, err := strconv.ParseInt(cause.Message, 10, 32)
				if err == nil {
					return int32(code), nil
				}
			}
		}
	}
	return 0, fmt.Errorf("streaming: the runtime says %.1000q", status.Message)
}
