package debug_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/debug"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people is a node that people ask.
type people struct {
	read func(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error
	exec func(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error)
}

func (p *people) ContainerID(_ context.Context, namespace, pod, container string, previous bool) (string, error) {
	if pod == "gone" {
		return "", fmt.Errorf("there is no pod %s: %w", pod, runtime.ErrNotFound)
	}
	return fmt.Sprint(namespace, "/", pod, "/", container, "/", previous), nil
}

func (p *people) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	return p.read(ctx, req, w)
}

func (p *people) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
	return p.exec(ctx, req, streams)
}

func handler(t *testing.T, p *people, exec bool) http.Handler {
	ok := func() error { return nil }
	config := debug.Config{Pods: func() []*v1.Pod { return nil }, Health: ok, Ready: ok, Logs: p}
	if exec {
		config.Exec = p
	}
	h, err := debug.New(config)
	require.NoError(t, err)
	return h
}

func TestLogs_Requests(t *testing.T) {
	var asked runtime.ReadLogRequest
	p := &people{read: func(_ context.Context, req runtime.ReadLogRequest, w io.Writer) error {
		asked = req
		_, err := io.WriteString(w, "one\ntwo\n")
		return err
	}}
	h := handler(t, p, false)
	for path, want := range map[string]runtime.ReadLogRequest{
		"/logs/default/web":                                   {ContainerID: "default/web//false"},
		"/logs/default/web/main":                              {ContainerID: "default/web/main/false"},
		"/logs/default/web/main?tail=3&follow":                {ContainerID: "default/web/main/false", Tail: 3, Follow: true},
		"/logs/default/web/main?follow=false&previous=true":   {ContainerID: "default/web/main/true"},
		"/logs/default/web?previous&follow=1":                 {ContainerID: "default/web//true", Follow: true},
		"/logs/default/web?since=2026-11-21T12:00:00%2B01:00": {ContainerID: "default/web//false", Since: time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)},
	} {
		answer := get(t, h, "GET", path)
		require.Equal(t, 200, answer.Code, answer.Body)
		assert.Equal(t, "one\ntwo\n", answer.Body.String())
		assert.Equal(t, "text/plain; charset=utf-8", answer.Header().Get("Content-Type"))
		assert.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"))
		asked.Since = asked.Since.In(time.UTC)
		if want.Since.IsZero() {
			want.Since = time.Time{}.In(time.UTC)
		}
		assert.Equal(t, want, asked, path)
	}
	before := time.Now()
	get(t, h, "GET", "/logs/default/web?since=10m")
	assert.WithinDuration(t, before.Add(-10*time.Minute), asked.Since, time.Minute)
	get(t, h, "HEAD", "/logs/default/web?follow")
	assert.False(t, asked.Follow)

	for path, want := range map[string]string{
		"/logs/default/web?tail=0":        "tail is a number of lines above 0, not \"0\"\n",
		"/logs/default/web?tail=all":      "tail is a number of lines above 0, not \"all\"\n",
		"/logs/default/web?follow=maybe":  "follow is true or false, not \"maybe\"\n",
		"/logs/default/web?previous=two":  "previous is true or false, not \"two\"\n",
		"/logs/default/web?since=morning": "since is a duration such as 10m or a time such as 2006-01-02T15:04:05Z, not \"morning\"\n",
		"/logs/default/web?since=-1m":     "since is a duration such as 10m or a time such as 2006-01-02T15:04:05Z, not \"-1m\"\n",
	} {
		answer := get(t, h, "GET", path)
		assert.Equal(t, 400, answer.Code)
		assert.Equal(t, want, answer.Body.String())
	}
	assert.Equal(t, 404, get(t, h, "GET", "/logs/default/%1b%5b2J").Code)
	assert.Equal(t, 404, get(t, h, "GET", "/logs/default/web/..%2f..%2fetc").Code)
	answer := get(t, h, "GET", "/logs/default/gone")
	assert.Equal(t, 404, answer.Code)
	assert.Equal(t, "there is no pod gone: not found\n", answer.Body.String())
	assert.Equal(t, 405, get(t, h, "POST", "/logs/default/web").Code)
}

func TestLogs_Errors(t *testing.T) {
	var fails error
	p := &people{read: func(context.Context, runtime.ReadLogRequest, io.Writer) error { return fails }}
	h := handler(t, p, false)
	for err, code := range map[error]int{
		runtime.ErrUnsupported: 501, runtime.ErrNotFound: 404, runtime.ErrNotReady: 503, runtime.ErrWrongState: 409, errors.New("broken"): 500,
	} {
		fails = err
		answer := get(t, h, "GET", "/logs/default/web")
		assert.Equal(t, code, answer.Code)
		assert.Equal(t, strings.TrimPrefix(err.Error(), "runtime: ")+"\n", answer.Body.String())
	}
	fails = nil
	answer := get(t, h, "GET", "/logs/default/web")
	assert.Equal(t, 200, answer.Code)
	assert.Empty(t, answer.Body.String())

	p.read = func(_ context.Context, _ runtime.ReadLogRequest, w io.Writer) error {
		_, _ = io.WriteString(w, "one\n")
		return errors.New("the disk\nis gone")
	}
	answer = get(t, h, "GET", "/logs/default/web")
	assert.Equal(t, 200, answer.Code)
	assert.Equal(t, "the disk is gone", answer.Result().Trailer.Get(debug.ErrorTrailer), "it is too late for a status")
}

// A client that follows a log gets each line as soon as it is written. When the client disconnects, its request ends.
func TestLogs_Follow(t *testing.T) {
	more, gone := make(chan string), make(chan error)
	p := &people{read: func(ctx context.Context, _ runtime.ReadLogRequest, w io.Writer) error {
		if _, err := io.WriteString(w, "one\n"); err != nil {
			return err
		}
		select {
		case line := <-more:
			_, err := io.WriteString(w, line)
			return err
		case <-ctx.Done():
			gone <- ctx.Err()
			return ctx.Err()
		}
	}}
	s := httptest.NewServer(handler(t, p, false))
	defer s.Close()
	open := func() *http.Response {
		answer, err := s.Client().Get(s.URL + "/logs/default/web?follow")
		require.NoError(t, err)
		buf := make([]byte, 4)
		_, err = io.ReadFull(answer.Body, buf)
		require.NoError(t, err)
		assert.Equal(t, "one\n", string(buf))
		return answer
	}
	first := open()
	more <- "two\n"
	text, err := io.ReadAll(first.Body)
	require.NoError(t, errors.Join(err, first.Body.Close()))
	assert.Equal(t, "two\n", string(text), "it came after what had come")
	var all []*http.Response
	for range 64 {
		all = append(all, open())
	}
	answer, err := s.Client().Get(s.URL + "/logs/default/web?follow")
	require.NoError(t, err)
	text, err = io.ReadAll(answer.Body)
	require.NoError(t, errors.Join(err, answer.Body.Close()))
	assert.Equal(t, 503, answer.StatusCode)
	assert.Equal(t, "64 such requests are in progress; stop one\n", string(text))
	for _, answer := range all {
		require.NoError(t, answer.Body.Close())
		require.ErrorIs(t, <-gone, context.Canceled)
	}
}

func TestExec(t *testing.T) {
	var asked runtime.ExecStreamRequest
	p := &people{exec: func(_ context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
		asked = req
		_, _ = io.WriteString(streams.Stdout, "out\n")
		_, _ = io.WriteString(streams.Stderr, "err\n")
		return 3, nil
	}}
	s := httptest.NewServer(handler(t, p, true))
	defer s.Close()
	post := func(path string) (*http.Response, string) {
		answer, err := s.Client().Post(s.URL+path, "", nil)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, errors.Join(err, answer.Body.Close()))
		return answer, string(text)
	}
	answer, text := post("/exec/default/web/main?command=ls&command=-l")
	assert.Equal(t, 200, answer.StatusCode)
	assert.Equal(t, "out\nerr\n", text)
	assert.Equal(t, "3", answer.Trailer.Get(debug.ExitCodeTrailer))
	assert.Equal(t, runtime.ExecStreamRequest{ContainerID: "default/web/main/false", Command: []string{"ls", "-l"}}, asked)

	p.exec = func(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) { return 0, nil }
	answer, text = post("/exec/default/web?command=true")
	assert.Empty(t, text)
	assert.Equal(t, "0", answer.Trailer.Get(debug.ExitCodeTrailer), "what prints nothing has a code too")

	p.exec = func(_ context.Context, _ runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
		_, _ = io.WriteString(streams.Stdout, "out\n")
		return 0, errors.New("the runtime is gone")
	}
	answer, _ = post("/exec/default/web?command=true")
	assert.Equal(t, "the runtime is gone", answer.Trailer.Get(debug.ErrorTrailer))
	assert.Empty(t, answer.Trailer.Get(debug.ExitCodeTrailer))

	p.exec = func(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) {
		return 0, runtime.ErrWrongState
	}
	answer, text = post("/exec/default/web?command=true")
	assert.Equal(t, 409, answer.StatusCode)
	assert.Equal(t, "wrong state\n", text)

	answer, text = post("/exec/default/web")
	assert.Equal(t, 400, answer.StatusCode)
	assert.Equal(t, "the command is missing: pass its words as ?command=ls&command=-l\n", text)
	answer, _ = post("/exec/default/gone?command=true")
	assert.Equal(t, 404, answer.StatusCode)
}

// Commands run for people at this machine only, and only where that was asked for.
func TestExec_Strangers(t *testing.T) {
	ran := 0
	p := &people{exec: func(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) {
		ran++
		return 0, nil
	}}
	on, off := handler(t, p, true), handler(t, p, false)
	for _, c := range []struct {
		peer, host string
		header     []string
		want       int
	}{
		{"127.0.0.1:1", "127.0.0.1:10348", nil, 200},
		{"127.0.0.1:1", "localhost:10348", nil, 200},
		{"127.0.0.2:1", "localhost", nil, 200},
		{"[::1]:1", "[::1]:10348", nil, 200},
		{"[::1]:1", "[::1]", nil, 200},
		{"[::ffff:127.0.0.1]:1", "127.0.0.1", nil, 200},
		{"192.0.2.1:1", "127.0.0.1:10348", nil, 403},
		{"192.0.2.1:1", "192.0.2.2:10348", nil, 403},
		{"localhost.evil.example:1", "127.0.0.1", nil, 403},
		{"", "127.0.0.1", nil, 403},
		{"127.0.0.1:1", "evil.example:10348", nil, 403},
		{"127.0.0.1:1", "127.0.0.1.evil.example", nil, 403},
		{"127.0.0.1:1", "", nil, 403},
		{"127.0.0.1:1", "127.0.0.1", []string{"Origin", "https://evil.example"}, 403},
		{"127.0.0.1:1", "127.0.0.1", []string{"Origin", "null"}, 403},
		{"127.0.0.1:1", "127.0.0.1", []string{"Origin", "http://127.0.0.1"}, 403},
		{"127.0.0.1:1", "127.0.0.1", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"127.0.0.1:1", "127.0.0.1", []string{"Sec-Fetch-Site", "same-site"}, 403},
	} {
		for i, h := range []http.Handler{on, off} {
			r := httptest.NewRequest("POST", "/exec/default/web?command=true", nil)
			r.RemoteAddr, r.Host = c.peer, c.host
			if c.header != nil {
				r.Header.Set(c.header[0], c.header[1])
			}
			ran = 0
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			want := c.want
			if i == 1 {
				want = 403
			}
			assert.Equal(t, want, answer.Code, "%+v: %s", c, answer.Body)
			assert.Equal(t, want == 200, ran == 1)
		}
	}
	assert.Equal(t, 405, get(t, on, "GET", "/exec/default/web?command=true").Code, "a link starts nothing")
	r := httptest.NewRequest("POST", "/exec/default/web?command=true", strings.NewReader(""))
	r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1"
	answer := httptest.NewRecorder()
	off.ServeHTTP(answer, r)
	assert.Equal(t, "this node does not run commands; its operator can allow it\n", answer.Body.String())
}
