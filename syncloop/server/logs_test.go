package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

func sprint(code int, text string) string { return fmt.Sprint(code, " ", text) }

// HS-6 to HS-8: what the API server asks for, and the answers.
func TestLogs(t *testing.T) {
	h := serve(t).start()
	h.read = func(_ context.Context, _ runtime.ReadLogRequest, w io.Writer) error {
		for _, line := range []string{"one\n", "two\n"} {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	}
	const log = "log of u1/c"
	for query, want := range map[string][2]string{
		"":                                 {"200 one\ntwo", log + " tail=0 follow=false since=00:00:00 timestamps=false"},
		"tailLines=3&timestamps=true":      {"200 one\ntwo", log + " tail=3 follow=false since=00:00:00 timestamps=true"},
		"follow=true":                      {"200 one\ntwo", log + " tail=0 follow=true since=00:00:00 timestamps=false"},
		"previous=true&stream=All":         {"200 one\ntwo", log + "/previous tail=0 follow=false since=00:00:00 timestamps=false"},
		"sinceTime=2030-01-01T12:00:00.5Z": {"200 one\ntwo", log + " tail=0 follow=false since=12:00:00.5 timestamps=false"},
		"limitBytes=5":                     {"200 one\nt", log + " tail=0 follow=false since=00:00:00 timestamps=false"},
		"limitBytes=4":                     {"200 one", log + " tail=0 follow=false since=00:00:00 timestamps=false"},
		"tailLines=0":                      {"200 ", ""},
		"follow=maybe":                     {`400 follow="maybe": expected true or false`, ""},
		"tailLines=all":                    {`400 tailLines="all": expected a number`, ""},
		"sinceTime=noon":                   {`400 sinceTime="noon": parsing time "noon" as "2006-01-02T15:04:05Z07:00": cannot parse "noon" as "2006"`, ""},
		"tailLines=-1":                     {`422 tailLines="-1": invalid query: expected 0 or more`, ""},
		"limitBytes=0":                     {`422 limitBytes="0": invalid query: expected 1 or more`, ""},
		"sinceSeconds=0":                   {`422 sinceSeconds="0": invalid query: expected 1 or more`, ""},
		"stream=Stderr":                    {`422 stream="Stderr": invalid query: this node does not separate the streams of a log`, ""},
		"sinceSeconds=1&sinceTime=2030-01-01T12:00:00Z": {"422 invalid query: only one of sinceSeconds and sinceTime is possible", ""},
	} {
		code, text := h.ask("GET", "/containerLogs/default/web/c?"+query)
		assert.Equal(t, want[0], sprint(code, text), query)
		if seen := h.seen(); want[1] == "" {
			assert.Empty(t, seen, query)
		} else {
			assert.Equal(t, []string{want[1]}, seen, query)
		}
	}
	for path, want := range map[string]string{
		"default/web/none": `404 container "none" is not in pod "web"`,
		"default/none/c":   "404 pod none is not on this node",
		"default/" + url.PathEscape("\x1b[2J") + "/c": "404 pod of that name is not on this node",
		"other/web/c":                    "404 pod web is not on this node",
		"default/web/late":               `400 container "late" in pod "web" is waiting to start: ImagePullBackOff`,
		"default/web/late?previous=true": `400 previous terminated container "late" in pod "web" not found`,
		"default/web/init?previous=true": `400 previous terminated container "init" in pod "web" not found`,
		"default/web/broken":             "503 the runtime is away: not ready",
	} {
		code, text := h.ask("GET", "/containerLogs/"+path)
		assert.Equal(t, want, sprint(code, text), path)
	}
	assert.Empty(t, h.seen())
}

// HS-9: times are counted from now, and no line of the past is sent of a log that is
// followed from its end.
func TestLogs_Since(t *testing.T) {
	h := serve(t).start()
	var since time.Time
	h.read = func(_ context.Context, req runtime.ReadLogRequest, _ io.Writer) error { since = req.Since; return nil }
	for query, ago := range map[string]time.Duration{"sinceSeconds=600": 10 * time.Minute, "tailLines=0&follow=true": 0, "tailLines=0&follow=true&sinceSeconds=9": 0} {
		code, _ := h.ask("GET", "/containerLogs/default/web/c?"+query)
		assert.Equal(t, 200, code)
		assert.WithinDuration(t, time.Now().Add(-ago), since, time.Minute, query)
	}
}

// HS-10: an error before the first byte is a status, one after it is a line.
func TestLogs_Errors(t *testing.T) {
	h := serve(t).start()
	for err, code := range map[error]int{runtime.ErrUnsupported: 501, runtime.ErrNotFound: 404, errors.New("memory: broken"): 500} {
		h.read = func(context.Context, runtime.ReadLogRequest, io.Writer) error { return err }
		got, _ := h.ask("GET", "/containerLogs/default/web/c")
		assert.Equal(t, code, got)
	}
	h.read = func(_ context.Context, _ runtime.ReadLogRequest, w io.Writer) error {
		_, _ = io.WriteString(w, "one\n")
		return errors.New("memory: broken")
	}
	code, text := h.ask("GET", "/containerLogs/default/web/c")
	assert.Equal(t, "200 one\nbroken", sprint(code, text))
}

// HS-9: the header of a log that is followed comes before its first line, each line when it
// is printed, and the reader ends with its client.
func TestLogs_Follow(t *testing.T) {
	h := serve(t).start()
	lines, ended := make(chan string), make(chan error, 1)
	h.read = func(ctx context.Context, _ runtime.ReadLogRequest, w io.Writer) error {
		for {
			select {
			case line := <-lines:
				if _, err := io.WriteString(w, line); err != nil {
					return err
				}
			case <-ctx.Done():
				ended <- ctx.Err()
				return ctx.Err()
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", h.url+"/containerLogs/default/web/c?follow=true", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer alice")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, 200, answer.StatusCode)
	in := bufio.NewReader(answer.Body)
	for _, line := range []string{"one\n", "two\n"} {
		lines <- line
		got, err := in.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, line, got)
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestLogs_Bound(t *testing.T) {
	h := serve(t).start()
	begun, release := make(chan struct{}), make(chan struct{})
	h.read = func(context.Context, runtime.ReadLogRequest, io.Writer) error {
		begun <- struct{}{}
		<-release
		return nil
	}
	done := make(chan struct{})
	for range 128 {
		go func() {
			defer func() { done <- struct{}{} }()
			code, _ := h.ask("GET", "/containerLogs/default/web/c")
			assert.Equal(t, 200, code)
		}()
		<-begun
	}
	code, text := h.ask("GET", "/containerLogs/default/web/c")
	assert.Equal(t, "503 128 such requests are in progress; stop one", sprint(code, text))
	close(release)
	for range 128 {
		<-done
	}
}

// HS-8: the log is that container's which the status shows.
func TestLogs_Instance(t *testing.T) {
	ended := func(id string) v1.ContainerState {
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: id}}
	}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	var status v1.ContainerStatus
	h := serve(t)
	h.config.Pods = func() []*v1.Pod {
		pod := web()
		status.Name = "c"
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		return []*v1.Pod{pod}
	}
	h.start()
	h.read = func(_ context.Context, req runtime.ReadLogRequest, w io.Writer) error {
		_, err := io.WriteString(w, req.ContainerID)
		return err
	}
	const none = `400 previous terminated container "c" in pod "web" not found`
	for _, c := range []struct {
		status            v1.ContainerStatus
		current, previous string
	}{
		{v1.ContainerStatus{State: running, ContainerID: "cri://2"}, "200 2", none},
		{v1.ContainerStatus{State: running, ContainerID: "cri://2", LastTerminationState: ended("cri://1")}, "200 2", "200 1"},
		{v1.ContainerStatus{State: ended("cri://2"), ContainerID: "cri://2", LastTerminationState: ended("cri://1")}, "200 2", "200 1"},
		{v1.ContainerStatus{State: ended(""), LastTerminationState: ended("cri://1")}, "200 1", "200 1"},
		{v1.ContainerStatus{State: waiting, ContainerID: "cri://1", LastTerminationState: ended("cri://1")}, "200 1", "200 1"},
		{v1.ContainerStatus{State: waiting}, `400 container "c" in pod "web" is waiting to start: CrashLoopBackOff`, none},
	} {
		status = c.status
		code, text := h.ask("GET", "/containerLogs/default/web/c")
		assert.Equal(t, c.current, sprint(code, text))
		code, text = h.ask("GET", "/containerLogs/default/web/c?previous=true")
		assert.Equal(t, c.previous, sprint(code, text))
	}
}

// HS-8: a pod that was deleted with force still terminates while another pod has its name. The response
// is the log of the other pod, also after the other pod is deleted or has terminated.
func TestLogs_HS8_TwoPodsOfAName(t *testing.T) {
	pod := func(uid types.UID, edit func(*v1.Pod)) *v1.Pod {
		pod := web()
		pod.UID = uid
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}, ContainerID: "cri://" + string(uid)}}
		edit(pod)
		return pod
	}
	deleted := func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }
	failed := func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed }
	running := func(*v1.Pod) {}
	for name, c := range map[string]struct {
		first, second func(*v1.Pod)
		want          string
	}{
		"another": {deleted, running, "second"}, "another that ends": {deleted, deleted, "second"}, "another that has ended": {deleted, failed, "second"},
		"another that was refused": {running, failed, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t)
			h.config.Pods = func() []*v1.Pod { return []*v1.Pod{other(), pod("first", c.first), pod("second", c.second)} }
			h.start()
			h.read = func(_ context.Context, req runtime.ReadLogRequest, w io.Writer) error {
				_, err := io.WriteString(w, req.ContainerID)
				return err
			}
			code, text := h.ask("GET", "/containerLogs/default/web/c")
			assert.Equal(t, "200 "+c.want, sprint(code, text))
		})
	}
}
