package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// maxSizesBytes limits how much a client may send about the size of its terminal.
const maxSizesBytes = 1 << 20

// process runs or attaches to a process, with the streams of a client. It returns the exit code.
type process func(ctx context.Context, tty bool, streams runtime.Streams) (int32, error)

// serveExec runs the command in the query in a container, and connects its streams with the client. It responds
// with an error if the node has no Exec or the command is missing.
func (s *server) serveExec(w http.ResponseWriter, r *http.Request) {
	command := r.URL.Query()["command"]
	switch {
	case s.Exec == nil:
		respond.WriteText(w, http.StatusNotImplemented, "this node does not run commands in containers\n")
		return
	case len(command) == 0:
		respond.WriteText(w, http.StatusBadRequest, "the command is missing\n")
		return
	}
	s.serveProcessStreams(w, r, func(id string, _ *v1.Pod) (process, bool) {
		return func(ctx context.Context, tty bool, streams runtime.Streams) (code int32, err error) {
			defer s.panics.Recover("ExecStream", &err)
			return s.Exec.ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: id, Command: command, TTY: tty}, streams)
		}, hasQueryFlag(r, "tty")
	})
}

// serveAttach connects the streams of the client with the process of a container. It responds with an error if
// the node has no Attach. Whether the process has a terminal depends on the spec of the container, not on the
// request.
func (s *server) serveAttach(w http.ResponseWriter, r *http.Request) {
	if s.Attach == nil {
		respond.WriteText(w, http.StatusNotImplemented, "this node does not attach to containers\n")
		return
	}
	s.serveProcessStreams(w, r, func(id string, pod *v1.Pod) (process, bool) {
		return func(ctx context.Context, tty bool, streams runtime.Streams) (code int32, err error) {
			defer s.panics.Recover("Attach", &err)
			return 0, s.Attach.Attach(ctx, runtime.AttachRequest{ContainerID: id, TTY: tty}, streams)
		}, hasTTY(pod, r.PathValue("container"))
	})
}

// hasTTY reports whether the spec of the container has tty set.
func hasTTY(pod *v1.Pod, name string) bool {
	asks := func(c v1.Container) bool { return c.Name == name && c.TTY }
	return slices.ContainsFunc(pod.Spec.Containers, asks) || slices.ContainsFunc(pod.Spec.InitContainers, asks) ||
		slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == name && c.TTY })
}

// hasQueryFlag reports whether the query has this flag with a true value. An invalid value counts as false.
func hasQueryFlag(r *http.Request, key string) bool {
	on, err := strconv.ParseBool(r.URL.Query().Get(key))
	return err == nil && on
}

// serveProcessStreams upgrades the request to SPDY or WebSocket and runs a process in the container that the path
// names, with the streams that the query requests. start returns the function that runs the process. It responds
// with an error if there are too many commands, if the pod or container does not exist, or if the request asks
// for no upgrade or no stream.
func (s *server) serveProcessStreams(w http.ResponseWriter, r *http.Request, start func(id string, pod *v1.Pod) (run process, tty bool)) {
	if !s.commands.Enter(w) {
		return
	}
	defer s.commands.Leave()
	pod, ok := s.findPodOrRespond(w, r)
	if !ok || !requireUpgradeOrRespond(w, r) {
		return
	}
	id, err := s.Finder.PodContainerID(r.Context(), pod.UID, r.PathValue("container"), false)
	if err != nil {
		respond.WriteError(w, err)
		return
	}
	run, tty := start(id, pod)
	kinds := requestedStreamKinds(r)
	if len(kinds) == 1 {
		respond.WriteText(w, http.StatusBadRequest, "one of input, output and error is needed\n")
		return
	}
	if wsstream.IsWebSocketRequest(r) {
		serveProcessOverWebSocket(w, r, kinds, tty, run)
		return
	}
	ctx, session, err := upgradeToSPDY(w, r, remotecommand.StreamProtocolV4Name, len(kinds))
	if err != nil {
		return
	}
	defer session.closeAfterClientOrTimeout(ctx)
	if streams, ok := session.waitForStreams(ctx, kinds); ok {
		runAndSendExitStatus(ctx, streams, tty, run, encodeStatusAsJSON)
	}
}

// requestedStreamKinds returns the kinds of streams that the query requests. The first one is the error stream,
// which each client has. With tty there is a resize stream and no stderr stream. If the query requests no stream,
// it returns only the error stream.
func requestedStreamKinds(r *http.Request) []string {
	tty, kinds := hasQueryFlag(r, v1.ExecTTYParam), []string{v1.StreamTypeError}
	for key, kind := range map[string]string{v1.ExecStdinParam: v1.StreamTypeStdin, v1.ExecStdoutParam: v1.StreamTypeStdout, v1.ExecStderrParam: v1.StreamTypeStderr} {
		if hasQueryFlag(r, key) && (kind != v1.StreamTypeStderr || !tty) {
			kinds = append(kinds, kind)
		}
	}
	if tty && len(kinds) > 1 {
		kinds = append(kinds, v1.StreamTypeResize)
	}
	return kinds
}

// runAndSendExitStatus runs a process with the streams of the client. After all of its output it sends the exit
// status on the error stream in the encoding of the protocol, unless ctx has ended or the encoding is empty. If
// the client has a resize stream, the process receives the terminal sizes.
func runAndSendExitStatus(ctx context.Context, streams map[string]stream, tty bool, run process, encode func(metav1.Status) []byte) {
	var s runtime.Streams
	if in := streams[v1.StreamTypeStdin]; in != nil {
		s.Stdin = in
	}
	if out := streams[v1.StreamTypeStdout]; out != nil {
		s.Stdout = out
	}
	if out := streams[v1.StreamTypeStderr]; out != nil {
		s.Stderr = out
	}
	if sizes := streams[v1.StreamTypeResize]; sizes != nil {
		resized := &resizeQueue{next: make(chan runtime.TerminalSize)}
		var reading sync.WaitGroup
		defer reading.Wait()
		defer func() { _ = sizes.Reset() }()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		reading.Go(func() {
			resized.readSizesIntoQueue(ctx, sizes)
			_ = sizes.Reset() // Further sizes must not hold up the other channels of a WebSocket.
		})
		s.Resized = resized.nextSize
	}
	code, err := run(ctx, tty, s)
	for _, kind := range []string{v1.StreamTypeStdout, v1.StreamTypeStderr} {
		if out := streams[kind]; out != nil {
			_ = out.Close()
		}
	}
	if ctx.Err() != nil {
		return
	}
	if encoded := encode(exitStatusObject(code, err)); len(encoded) > 0 {
		_, _ = streams[v1.StreamTypeError].Write(encoded)
	}
	_ = streams[v1.StreamTypeError].Close()
}

// encodeStatusAsJSON encodes an exit status for the protocols from v4.channel.k8s.io on.
func encodeStatusAsJSON(status metav1.Status) []byte {
	encoded, _ := json.Marshal(status) // A Status has only texts and numbers.
	return encoded
}

// encodeStatusAsText encodes an exit status for the protocols before v4.channel.k8s.io: the message of a failure,
// and nothing for success.
func encodeStatusAsText(status metav1.Status) []byte { return []byte(status.Message) }

// exitStatusObject converts the exit code and error of a process to the metav1.Status that kubectl expects.
func exitStatusObject(code int32, err error) metav1.Status {
	switch {
	case err != nil:
		status := metav1.Status{Status: metav1.StatusFailure, Message: plain.Text(err.Error()), Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError}
		if errors.Is(err, runtime.ErrUnsupported) {
			status.Reason, status.Code = "", http.StatusNotImplemented
		}
		return status
	case code != 0:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason,
			Message: fmt.Sprintf("command terminated with non-zero exit code: exit status %d", code),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(int(code))}}},
		}
	}
	return metav1.Status{Status: metav1.StatusSuccess}
}

// resizeQueue passes on the sizes of a client's terminal.
type resizeQueue struct{ next chan runtime.TerminalSize }

// readSizesIntoQueue reads terminal sizes from the stream and passes them to nextSize. It returns when the
// stream or ctx ends, or after maxSizesBytes, and closes the queue.
func (t *resizeQueue) readSizesIntoQueue(ctx context.Context, from io.Reader) {
	defer close(t.next)
	sizes := json.NewDecoder(io.LimitReader(from, maxSizesBytes))
	for {
		var size struct{ Width, Height uint16 }
		if sizes.Decode(&size) != nil {
			return
		}
		select {
		case t.next <- runtime.TerminalSize{Columns: size.Width, Rows: size.Height}:
		case <-ctx.Done():
			return
		}
	}
}

// nextSize waits for the next terminal size of the client. It returns false when ctx or the stream of sizes
// ends.
func (t *resizeQueue) nextSize(ctx context.Context) (runtime.TerminalSize, bool) {
	select {
	case size, ok := <-t.next:
		return size, ok
	case <-ctx.Done():
		return runtime.TerminalSize{}, false
	}
}
