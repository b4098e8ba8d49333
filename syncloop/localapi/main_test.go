package localapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "secret"

// harness is an API of a scripted node, behind a real HTTP server.
type harness struct {
	*testing.T
	url    string
	config localapi.Config
	api    *localapi.API
	states chan node.PodState
	ran    chan struct{}
	stop   context.CancelFunc

	mu      sync.Mutex
	pods    []*v1.Pod
	waiting error
	healthy error
}

func newHarness(t *testing.T) *harness {
	h := &harness{T: t, states: make(chan node.PodState), ran: make(chan struct{})}
	h.config = localapi.Config{Node: h, NodeName: "n1", Finder: h, Logs: h, Exec: h, Authenticator: localapi.Token(token)}
	return h
}

// startServer serves until the end of the test. These pods are there from the beginning.
func (h *harness) startServer(pods ...*v1.Pod) *harness {
	var err error
	h.pods = pods
	h.api, err = localapi.New(h.config)
	require.NoError(h, err)
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	s := httptest.NewServer(h.api)
	h.url = s.URL
	go func() { defer close(h.ran); _ = h.api.Run(ctx) }()
	h.Cleanup(func() {
		stop()
		<-h.ran
		s.CloseClientConnections()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	for _, pod := range pods {
		h.states <- node.PodState{Pod: pod}
	}
	return h
}

// waitForPods waits until the API has all pods.
func (h *harness) waitForPods() *harness {
	h.Helper()
	<-h.api.Ready()
	h.getText("/readyz")
	return h
}

func (h *harness) Watch(ctx context.Context) iter.Seq[node.PodState] {
	return func(yield func(node.PodState) bool) {
		for {
			select {
			case s := <-h.states:
				if !yield(s) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (h *harness) Pods() []*v1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.pods)
}

func (h *harness) Health() node.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	return node.Health{Err: h.healthy, Waiting: h.waiting}
}

func (h *harness) PodContainerID(_ context.Context, _ types.UID, container string, _ bool) (string, error) {
	return "id-" + container, nil
}

func (h *harness) PodSandboxID(context.Context, types.UID) (string, error) {
	return "", errors.New("unused")
}

func (h *harness) ReadLog(_ context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	_, err := io.WriteString(w, "log of "+req.ContainerID+"\n")
	return err
}

func (h *harness) ExecStream(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) {
	return 0, nil
}

// sendRequest sends a request with the token.
func (h *harness) sendRequest(method, path, body string, header http.Header) (code int, answer string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	require.NoError(h, err)
	req.Header.Set("Authorization", "Bearer "+token)
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(h, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(h, err)
	return resp.StatusCode, string(text)
}

// getText gets a path and returns the response.
func (h *harness) getText(path string) string {
	h.Helper()
	code, text := h.sendRequest("GET", path, "", nil)
	require.Equal(h, http.StatusOK, code, text)
	return text
}

// getObject gets a path and decodes the response.
func getObject[T any](h *harness, path string) (value T) {
	h.Helper()
	require.NoError(h, json.Unmarshal([]byte(h.getText(path)), &value))
	return value
}

func newPod(namespace, name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)}}
	p.CreationTimestamp = metav1.NewTime(time.Now().Add(-90 * time.Second).Truncate(time.Second))
	p.Labels = map[string]string{"app": name}
	p.Spec.NodeName = "n1"
	p.Spec.Containers = []v1.Container{{Name: "c", Image: "busybox"}}
	p.Status = v1.PodStatus{
		Phase: v1.PodRunning, PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}},
		Conditions:        []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodInitialized, Status: v1.ConditionTrue}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "c", Ready: true, ContainerID: "x://id", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}},
	}
	return p
}

// staticPod is a running pod from a manifest.
func staticPod(namespace, name string) *v1.Pod {
	p := newPod(namespace, name)
	p.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: "file"}
	return p
}

func (h *harness) Pod(uid types.UID) (*v1.Pod, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.pods, func(p *v1.Pod) bool { return p.UID == uid })
	if i < 0 {
		return nil, false
	}
	return h.pods[i].DeepCopy(), true
}
