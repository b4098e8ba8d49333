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

// Process connects the streams of a process with the streams of the caller until the process exits,
// and returns its exit code. The URL must have been requested with the same TTY, with stdin if
// Streams has one, with stdout, and with stderr unless TTY.
func Process(ctx context.Context, dial Dial, address string, tty bool, streams runtime.Streams) (int32, error) {
	c, err := dialAndUpgrade(ctx, dial, address, remotecommand.StreamProtocolV4Name)
	if err != nil {
		return 0, err
	}
	defer c.closeNow()
	defer context.AfterFunc(ctx, c.closeNow)()
	p := &openProcess{streams: streams}
	if err := p.openProcessStreams(ctx, c, tty); err != nil {
		return 0, err
	}
	code, err := p.copyUntilExit(ctx, c)
	if ended := ctx.Err(); ended != nil {
		return 0, fmt.Errorf("streaming: %w", ended)
	}
	return code, err
}

// openProcess is a process with open streams.
type openProcess struct {
	streams                              runtime.Streams
	status, stdin, stdout, stderr, sizes httpstream.Stream
}

// openProcessStreams opens and stores the streams that the process needs: error and stdout, stdin if the client
// has one, resize with a terminal, and stderr without a terminal. It returns an error if the connection breaks
// or ctx ends.
func (p *openProcess) openProcessStreams(ctx context.Context, c *connection, tty bool) error {
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
	opened, err := c.openStreams(ctx, headers)
	if err != nil {
		return err
	}
	for i, place := range places {
		*place = opened[i]
	}
	return nil
}

// copyUntilExit copies input, output and terminal sizes until the server has sent the exit status and all
// output is written. It then closes the connection and returns the exit code.
func (p *openProcess) copyUntilExit(ctx context.Context, c *connection) (int32, error) {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer c.closeNow()
	defer cancel()
	if p.stdin != nil {
		go func() { // A pending Read does not block the return.
			_, _ = io.Copy(p.stdin, p.streams.Stdin) // A process may stop reading its input.
			_ = p.stdin.Close()
		}()
	}
	if p.sizes != nil && p.streams.Resized != nil {
		others.Go(func() { sendResizes(ctx, p.sizes, p.streams.Resized) })
	}
	var errs [3]error
	var printed sync.WaitGroup
	printed.Go(func() { errs[0] = copyOutputOrCloseConnection(c, p.stdout, p.streams.Stdout) })
	printed.Go(func() { errs[1] = copyOutputOrCloseConnection(c, p.stderr, p.streams.Stderr) })
	end, err := readAllLimited(p.status)
	printed.Wait()
	errs[2] = err
	if err := errors.Join(errs[:]...); err != nil {
		return 0, err
	}
	return parseExitStatus(end)
}

// copyOutputOrCloseConnection copies an output stream to a writer. If the copy fails, it closes the connection
// and returns the error. It does nothing if stream is nil, and discards the output if writer is nil.
func copyOutputOrCloseConnection(c *connection, stream httpstream.Stream, writer io.Writer) error {
	if stream == nil {
		return nil
	}
	writer = cmp.Or(writer, io.Discard)
	if _, err := io.Copy(writer, stream); err != nil {
		c.closeNow() // The rest cannot be delivered.
		return fmt.Errorf("streaming: output: %w", err)
	}
	return nil
}

// sendResizes sends each terminal size to the server as JSON, until nextSize returns false or the stream cannot
// be written.
func sendResizes(ctx context.Context, stream io.Writer, nextSize func(context.Context) (runtime.TerminalSize, bool)) {
	out := json.NewEncoder(stream)
	for {
		size, ok := nextSize(ctx)
		if !ok {
			return
		}
		if out.Encode(struct{ Width, Height uint16 }{size.Columns, size.Rows}) != nil {
			return // The process has exited.
		}
	}
}

// parseExitStatus returns the exit code in the status that the server sent at the exit of the process: zero for
// success. It returns an error if the status is empty, cannot be decoded or contains no exit code.
func parseExitStatus(end []byte) (int32, error) {
	if len(end) == 0 {
		return 0, fmt.Errorf("streaming: %w: the connection broke before the process exited", runtime.ErrNotReady)
	}
	var status metav1.Status
	if err := json.Unmarshal(end, &status); err != nil {
		return 0, fmt.Errorf("streaming: cannot decode the exit status: %w", err)
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
	return 0, fmt.Errorf("streaming: the runtime reports %.1000q", status.Message)
}
