package stats_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
	"github.com/podkeel/podkeel/syncloop/stats"
)

var rewrite = flag.Bool("rewrite", false, "write the answers in testdata anew, to be defended in review")

// ask sends a request to a handler.
func ask(handler http.Handler, method, target string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(method, target, nil))
	return answer
}

// golden compares an answer with a file of testdata, indented.
func golden(t *testing.T, name string, answer *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, http.StatusOK, answer.Code)
	assert.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	var value any
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &value))
	got, err := json.MarshalIndent(value, "", "  ")
	require.NoError(t, err)
	path := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got)+"\n")
}

// The summary of a simulated node, complete and with only processors and memory.
func TestHandler(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Node: node.Config{Name: "edge"}})
	b.Machine().SetImageFilesystem(1<<30, 1<<20)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: types.UID("uid-web"), Annotations: map[string]string{
			memory.AnnotationPrefix + "c": "run=forever cpu=500m memory=64Mi disk=1Mi receive=1k transmit=10",
		}},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	}
	b.Apply(pod)
	b.Run(5 * time.Second)
	handler := stats.Handler(b.Node().Containers())
	ask(handler, http.MethodGet, "/stats/summary")
	b.Run(10 * time.Second)
	golden(t, "summary.json", ask(handler, http.MethodGet, "/stats/summary"))
	golden(t, "only.json", ask(handler, http.MethodGet, "/stats/summary?only_cpu_and_memory=true"))
	b.Stop()
}

// told is a reader that returns fixed stats.
type told struct {
	stats node.NodeStats
	err   error
}

func (r told) NodeStats(context.Context) (node.NodeStats, error) { return r.stats, r.err }

// Every known figure of the runtime is in the summary, and no unknown one.
func TestSummarize_EveryFigure(t *testing.T) {
	at := time.Unix(946684800, 0).UTC()
	n := func(v uint64) *uint64 { return &v }
	eth := runtime.InterfaceStats{Name: "eth0", RxBytes: n(1), RxErrors: n(2), TxBytes: n(3), TxErrors: n(4)}
	whole := runtime.ContainerStats{
		ContainerID: "id", Name: "c", StartedAt: at,
		CPU:        &runtime.CPUStats{At: at, UsageCoreNanoSeconds: n(5), UsageNanoCores: n(6)},
		Memory:     &runtime.MemoryStats{At: at, WorkingSetBytes: n(7), AvailableBytes: n(8), UsageBytes: n(9), RSSBytes: n(10), PageFaults: n(11), MajorPageFaults: n(12)},
		Swap:       &runtime.SwapStats{At: at, UsageBytes: n(13), AvailableBytes: n(14)},
		Filesystem: &runtime.FilesystemStats{At: at, AvailableBytes: n(15), CapacityBytes: n(16), UsedBytes: n(17), InodesFree: n(18), Inodes: n(19), InodesUsed: n(20)},
	}
	all := node.NodeStats{Name: "edge", StartedAt: at, Filesystem: whole.Filesystem, Processes: &node.ProcessLimit{At: at, Max: 22, Running: 23}, Pods: []node.PodStats{
		{Name: "whole", Namespace: "n", UID: "a", StartedAt: at, PodStats: runtime.PodStats{
			Processes: n(21), Network: &runtime.NetworkStats{At: at, Interfaces: []runtime.InterfaceStats{eth, {Name: "eth1"}}}, Containers: []runtime.ContainerStats{whole},
		}},
		{Name: "unknown", Namespace: "n", UID: "b", StartedAt: at, Err: errors.New("it cannot tell"), PodStats: runtime.PodStats{
			Containers: []runtime.ContainerStats{{Name: "c", StartedAt: at}},
		}},
	}}
	golden(t, "figures.json", ask(stats.Handler(told{stats: all}), http.MethodGet, "/"))
}

func TestHandler_Refusals(t *testing.T) {
	for name, c := range map[string]struct {
		method, target string
		err            error
		code           int
		body           string
	}{
		"a node that does not measure": {"GET", "/", runtime.ErrUnsupported, http.StatusNotImplemented, "unsupported\n"},
		"another method":               {"POST", "/", nil, http.StatusMethodNotAllowed, "the summary can only be read\n"},
		"another word":                 {"GET", "/?only_cpu_and_memory=perhaps", nil, http.StatusBadRequest, "only_cpu_and_memory is neither true nor false\n"},
	} {
		answer := ask(stats.Handler(told{err: c.err}), c.method, c.target)
		assert.Equal(t, c.code, answer.Code, name)
		assert.Equal(t, c.body, answer.Body.String(), name)
	}
}
