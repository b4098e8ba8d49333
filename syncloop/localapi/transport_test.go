package localapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
)

// inProcess runs a test in a bubble, with an API of a scripted node and no server.
func inProcess(t *testing.T, logs logReader, test func(h *harness, client *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.config.Logs, h.pods = logs, []*v1.Pod{newPod("default", "a")}
		ctx, stop := context.WithCancel(t.Context())
		var err error
		h.api, err = localapi.New(h.config)
		require.NoError(t, err)
		go func() { defer close(h.ran); _ = h.api.Run(ctx) }()
		h.states <- node.PodState{Pod: h.pods[0]}
		<-h.api.Ready()
		test(h, &http.Client{Transport: h.api.RoundTripper()})
		stop()
		<-h.ran
	})
}

// logReader is a runtime.LogReader.
type logReader func(ctx context.Context, w io.Writer) error

func (f logReader) ReadLog(ctx context.Context, _ runtime.ReadLogRequest, w io.Writer) error {
	return f(ctx, w)
}

const logOfA = "http://node/api/v1/namespaces/default/pods/a/log?follow=true"

// newGetRequest returns a GET request of a client.
func newGetRequest(t *testing.T, ctx context.Context, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	require.NoError(t, err)
	return r
}

// TestRoundTripper: time passes in a bubble while a client in the process follows a pod.
func TestRoundTripper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := node.New(node.Config{Name: "n1"})
		require.NoError(t, err)
		api, err := localapi.New(localapi.Config{
			Node: n, NodeName: "n1", Finder: n.Containers(), Logs: n.Containers(), Writer: n, Saved: localapi.Unsaved{}, Authenticator: localapi.Token(token),
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = n.Run(ctx) }()
		ended := make(chan error, 1)
		go func() { ended <- api.Run(ctx) }()
		<-api.Ready()
		client := &http.Client{Transport: api.RoundTripper()}
		began := time.Now()
		watch, err := client.Get("http://node/api/v1/pods?watch=true&timeoutSeconds=2700&fieldSelector=status.phase%3DSucceeded")
		require.NoError(t, err)
		assert.Equal(t, "200 OK application/json", watch.Status+" "+watch.Header.Get("Content-Type"))
		body := fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"job","annotations":{%q:"run=30m exit=0"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}}`, memory.AnnotationPrefix+"c")
		created, err := client.Post("http://node/api/v1/namespaces/default/pods", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, created.Body)
		assert.Equal(t, http.StatusCreated, created.StatusCode)
		lines := bufio.NewScanner(watch.Body)
		lines.Buffer(nil, 1<<20)
		require.True(t, lines.Scan())
		assert.Regexp(t, `^{"type":"ADDED",.*"name":"job"`, lines.Text())
		assert.Equal(t, 30*time.Minute, time.Since(began).Truncate(time.Minute))
		for lines.Scan() { // It goes on to the end of the watch.
		}
		assert.NoError(t, lines.Err())
		assert.Equal(t, 45*time.Minute, time.Since(began))
		stop()
		require.NoError(t, <-ended)
		<-n.Done()
	})
}

// TestRoundTripper_Ends, in a bubble: a body that is closed, and a request that is cancelled, end what answers.
func TestRoundTripper_Ends(t *testing.T) {
	for name, end := range map[string]func(body io.Closer, cancel func()){
		"closed":    func(body io.Closer, _ func()) { _ = body.Close() },
		"cancelled": func(_ io.Closer, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			var ended error
			follow := func(ctx context.Context, w io.Writer) error {
				_, _ = io.WriteString(w, "one\n")
				<-ctx.Done()
				_, ended = io.WriteString(w, "two\n")
				return nil
			}
			inProcess(t, follow, func(h *harness, client *http.Client) {
				ctx, cancel := context.WithCancel(h.Context())
				defer cancel()
				answer, err := client.Do(newGetRequest(h.T, ctx, logOfA))
				require.NoError(t, err)
				line, err := bufio.NewReader(answer.Body).ReadString('\n')
				assert.Equal(t, "one\n", line)
				require.NoError(t, err)
				time.Sleep(24 * time.Hour) // It is followed for as long as the client wants.
				assert.NoError(t, ended)
				end(answer.Body, cancel)
				synctest.Wait()
				assert.ErrorIs(t, ended, io.ErrClosedPipe)
				if _, err = answer.Body.Read(make([]byte, 1)); name == "cancelled" {
					assert.ErrorIs(t, err, context.Canceled)
				} else {
					assert.ErrorIs(t, err, io.ErrClosedPipe)
				}
			})
		})
	}
}

// TestRoundTripper_Unanswered: a request returns when its context is done, even without a response. The
// handler returns too, even if it is reading the body.
func TestRoundTripper_Unanswered(t *testing.T) {
	inProcess(t, nil, func(h *harness, client *http.Client) {
		ctx, cancel := context.WithTimeout(h.Context(), time.Hour)
		defer cancel()
		sent, _ := io.Pipe()
		r, err := http.NewRequestWithContext(ctx, "POST", "http://node/api/v1/namespaces/default/pods", sent)
		require.NoError(t, err)
		began := time.Now()
		_, err = client.Do(r)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Hour, time.Since(began))
		synctest.Wait()
		_, err = sent.Read(nil)
		assert.ErrorIs(t, err, io.ErrClosedPipe, "the body of the request is closed")

		client.Timeout = time.Minute
		answer, err := client.Get("http://node/api/v1/pods?watch=true&resourceVersion=")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Hour+time.Minute, time.Since(began))
	})
}

// TestRoundTripper_Panic: a panic is an error of the request.
func TestRoundTripper_Panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.config.Node = unhealthy{h}
		api, err := localapi.New(h.config)
		require.NoError(t, err)
		_, err = api.RoundTripper().RoundTrip(newGetRequest(t, t.Context(), "http://node/healthz"))
		assert.EqualError(t, err, "localapi: ServeHTTP panicked: the disk")
	})
}

// unhealthy is a node that panics.
type unhealthy struct{ *harness }

func (unhealthy) Health() node.Health { panic("the disk") }

// TestRoundTripper_Access: the program itself needs no token; a wrong one is refused.
func TestRoundTripper_Access(t *testing.T) {
	inProcess(t, nil, func(h *harness, client *http.Client) {
		const none = "no header"
		for authorization, want := range map[string]int{none: 200, "Bearer " + token: 200, "Bearer none": 401, "Basic " + token: 401, "": 401} {
			r := newGetRequest(h.T, h.Context(), "http://node/api/v1/pods")
			if authorization != none {
				r.Header.Set("Authorization", authorization)
			}
			answer, err := client.Do(r)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, answer.Body)
			assert.Equal(t, want, answer.StatusCode, authorization)
		}
		review, err := client.Post("http://node/apis/authentication.k8s.io/v1/selfsubjectreviews", "application/json", strings.NewReader("{}"))
		require.NoError(t, err)
		text, err := io.ReadAll(review.Body)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"userInfo":{"username":"podkeel"`)
	})
}

// TestRoundTripper_Upgrade: what needs a connection is refused, with what to do instead. A HEAD
// has no body.
func TestRoundTripper_Upgrade(t *testing.T) {
	inProcess(t, nil, func(h *harness, client *http.Client) {
		body, sent := io.Pipe()
		r, err := http.NewRequestWithContext(h.Context(), "POST", "http://node/api/v1/namespaces/default/pods/a/exec?command=ls&stdout=true", body)
		require.NoError(t, err)
		r.Header.Set("Upgrade", "SPDY/3.1")
		_, err = h.api.RoundTripper().RoundTrip(r)
		assert.EqualError(t, err, "localapi: exec, attach and port-forward need a connection, which an in-process client does not have: call node.Node, or connect to a localapi.Service")
		_, err = sent.Write([]byte("x"))
		assert.ErrorIs(t, err, io.ErrClosedPipe)

		answer, err := client.Head("http://node/healthz")
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		assert.Equal(t, "200 OK  <nil>", fmt.Sprint(answer.Status, " ", string(text), " ", err))
	})
}
