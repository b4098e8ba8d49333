package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a node that is scripted, behind a real HTTP server.
type harness struct {
	*testing.T
	url     string
	config  server.Config
	healthy error
	read    func(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error
	process func(ctx context.Context, streams runtime.Streams) (int32, error)
	forward func(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error

	mu       sync.Mutex
	asked    []string // of the runtime
	reviewed []string // by the Authorizer
	allowed  func(authorizationv1.ResourceAttributes) (bool, error)
	stop     context.CancelFunc
}

func (h *harness) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, fmt.Sprintf(format, args...))
}

// seen returns the calls since the last call of seen.
func (h *harness) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.asked = nil }()
	return h.asked
}

func serve(t *testing.T) *harness {
	h := &harness{T: t}
	h.config = server.Config{
		NodeName: "n1", Pods: func() []*v1.Pod { return []*v1.Pod{web(), other()} }, Health: func() error { return h.healthy }, Finder: h,
		Logs: h, Exec: h, Attach: h, PortForward: h, Authenticator: h, Authorizer: h,
	}
	return h
}

// start serves until the end of the test.
func (h *harness) start() *harness {
	handler, err := server.New(h.config)
	require.NoError(h, err)
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	var under sync.WaitGroup
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		under.Add(1)
		defer under.Done()
		both, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		handler.ServeHTTP(w, r.WithContext(both))
	}))
	s.Start()
	h.url = s.URL
	h.Cleanup(func() {
		stop()
		s.Close()
		under.Wait()
		http.DefaultClient.CloseIdleConnections()
	})
	return h
}

func web() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: types.UID("u1")}}
	pod.Spec.InitContainers = []v1.Container{{Name: "init"}}
	pod.Spec.Containers = []v1.Container{{Name: "c"}, {Name: "shell", TTY: true}, {Name: "late"}, {Name: "broken"}}
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "late", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	return pod
}

func other() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "web", UID: types.UID("u2")}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "x"}}}}
}

func (h *harness) PodContainerID(_ context.Context, uid types.UID, container string, previous bool) (string, error) {
	switch {
	case container == "broken":
		return "", fmt.Errorf("cri: the runtime is away: %w", runtime.ErrNotReady)
	case container == "late", previous && container != "c":
		return "", fmt.Errorf("no container %s: %w", container, runtime.ErrNotFound)
	}
	return fmt.Sprint(uid, "/", container, map[bool]string{true: "/previous"}[previous]), nil
}

func (h *harness) PodSandboxID(_ context.Context, uid types.UID) (string, error) {
	if uid == "u2" {
		return "", fmt.Errorf("pod %s has no sandbox: %w", uid, runtime.ErrNotFound)
	}
	return "sandbox of " + string(uid), nil
}

func (h *harness) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	h.note("log of %s tail=%d follow=%t since=%s timestamps=%t", req.ContainerID, req.Tail, req.Follow, req.Since.UTC().Format("15:04:05.999"), req.Timestamps)
	return h.read(ctx, req, w)
}

func (h *harness) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
	h.note("exec %s %q tty=%t %s", req.ContainerID, req.Command, req.TTY, open(streams))
	return h.process(ctx, streams)
}

func (h *harness) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	h.note("attach %s tty=%t %s", req.ContainerID, req.TTY, open(streams))
	_, err := h.process(ctx, streams)
	return err
}

func (h *harness) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	h.note("forward %s %d", req.SandboxID, req.Port)
	defer conn.Close()
	return h.forward(ctx, req, conn)
}

func open(s runtime.Streams) string {
	var all []string
	for name, is := range map[string]bool{"in": s.Stdin != nil, "out": s.Stdout != nil, "err": s.Stderr != nil, "sizes": s.Resized != nil} {
		if is {
			all = append(all, name)
		}
	}
	return fmt.Sprint(len(all), " streams")
}

// Authenticate accepts the token of alice; the token "broken" returns an error.
func (h *harness) Authenticate(r *http.Request) (authenticationv1.UserInfo, bool, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer alice":
		return authenticationv1.UserInfo{Username: "alice"}, true, nil
	case "Bearer broken":
		return authenticationv1.UserInfo{}, false, errors.New("the API server does not answer")
	}
	return authenticationv1.UserInfo{}, false, nil
}

func (h *harness) Authorize(_ context.Context, user authenticationv1.UserInfo, a authorizationv1.ResourceAttributes) (bool, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reviewed = append(h.reviewed, fmt.Sprintf("%s %s %s %s/%s %s", user.Username, a.Verb, a.Version, a.Resource, a.Subresource, a.Name))
	if h.allowed == nil {
		return true, "", nil
	}
	ok, err := h.allowed(a)
	return ok, "no rule for " + a.Subresource, err
}

// ask sends a request as alice, and returns the status and the text.
func (h *harness) ask(method, path string) (int, string) {
	h.Helper()
	return h.askAs("alice", method, path)
}

func (h *harness) askAs(token, method, path string) (int, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url+path, nil)
	require.NoError(h, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(h, err)
	return answer.StatusCode, strings.TrimSuffix(string(text), "\n")
}
