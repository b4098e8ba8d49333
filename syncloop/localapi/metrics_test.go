package localapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// measured is what the pods of a scripted node use.
type measured func() (node.NodeStats, error)

func (m measured) NodeStats(context.Context) (node.NodeStats, error) { return m() }

// podUsage returns the stats of a pod with one container that uses CPU at this rate, in nanocores.
func podUsage(name string, nanoCores *uint64) node.PodStats {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	s := node.PodStats{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}
	s.Containers = []runtime.ContainerStats{{
		Name: "c", StartedAt: at.Add(-2 * time.Second),
		CPU:    &runtime.CPUStats{At: at, UsageCoreNanoSeconds: new(uint64(8_000_000)), UsageNanoCores: nanoCores},
		Memory: &runtime.MemoryStats{At: at, WorkingSetBytes: new(uint64(3 << 20))},
	}}
	return s
}

// TestMetrics: the requests of kubectl top. Before a rate was measured, the usage is the mean since the start of the
// container. A pod with incomplete metrics is left out, like a pod that is gone.
func TestMetrics(t *testing.T) {
	broken, unknown, other := podUsage("d", nil), podUsage("e", nil), podUsage("a", nil)
	broken.Err = errors.New("it is slow")
	unknown.Containers[0].Memory = nil
	other.UID = "another"
	stats := node.NodeStats{Pods: []node.PodStats{podUsage("a", new(uint64(7_000_000))), podUsage("b", nil), podUsage("gone", nil), broken, unknown, other}}
	h := newHarness(t)
	h.config.Stats = measured(func() (node.NodeStats, error) { return stats, nil })
	h.startServer(newPod("default", "a"), newPod("default", "b"), newPod("default", "d"), newPod("default", "e")).waitForPods()
	type list struct {
		APIVersion, Kind string
		Items            []struct {
			Metadata          struct{ Name, Namespace string }
			Kind              string
			Timestamp, Window string
			Usage             v1.ResourceList
			Containers        []struct {
				Name  string
				Usage v1.ResourceList
			}
		}
	}
	show := func(path string) (lines []string) {
		all := getObject[list](h, "/apis/metrics.k8s.io/v1beta1/"+path)
		lines = []string{all.APIVersion + " " + all.Kind}
		for _, i := range all.Items {
			line := fmt.Sprint(i.Kind, " ", i.Metadata.Namespace, "/", i.Metadata.Name, " ", i.Timestamp, " ", i.Window, " ", i.Usage.Cpu(), " ", i.Usage.Memory())
			for _, c := range i.Containers {
				line += fmt.Sprint(" ", c.Name, " ", c.Usage.Cpu(), " ", c.Usage.Memory())
			}
			lines = append(lines, line)
		}
		return lines
	}
	a, b := "PodMetrics default/a 2026-01-02T03:04:05Z 10s 0 0 c 7m 3Mi", "PodMetrics default/b 2026-01-02T03:04:05Z 10s 0 0 c 4m 3Mi"
	assert.Equal(t, []string{"metrics.k8s.io/v1beta1 PodMetricsList", a, b}, show("pods"))
	assert.Equal(t, []string{"metrics.k8s.io/v1beta1 PodMetricsList", b}, show("namespaces/default/pods?labelSelector=app%3Db"))
	assert.Equal(t, []string{"metrics.k8s.io/v1beta1 PodMetricsList"}, show("namespaces/other/pods"))
	assert.Equal(t, []string{"metrics.k8s.io/v1beta1 NodeMetricsList", "NodeMetrics /n1 2026-01-02T03:04:05Z 10s 23m 15Mi"}, show("nodes"))
	assert.Contains(t, h.getText("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/b"), `"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":"b","namespace":"default",`)
	assert.Contains(t, h.getText("/apis/metrics.k8s.io/v1beta1/nodes/n1"), `"kind":"NodeMetrics"`)
	assert.Contains(t, h.getText("/apis/metrics.k8s.io/v1beta1"), `"resources":[{"name":"nodes","singularName":"","namespaced":false,"kind":"NodeMetrics","verbs":["get","list"]},{"name":"pods",`)
	for path, want := range map[string]string{
		"GET /namespaces/default/pods/d": `404 pods.metrics.k8s.io \"d\" not found`,
		"GET /nodes/n2":                  `404 nodes.metrics.k8s.io \"n2\" not found`,
		"GET /events":                    `404 the server could not find the requested resource`,
		"GET /pods?watch=1":              `405 watch is not supported on resources of kind \"pods.metrics.k8s.io\"`,
		"POST /pods":                     `405 post is not supported on resources of kind \"pods.metrics.k8s.io\"`,
	} {
		method, path, _ := strings.Cut(path, " ")
		code, text := h.sendRequest(method, "/apis/metrics.k8s.io/v1beta1"+path, "", nil)
		_, message, _ := strings.Cut(text, `"message":"`)
		message, _, _ = strings.Cut(message, `","reason"`)
		assert.Equal(t, want, fmt.Sprint(code, " ", message), path)
	}
}

// TestMetrics_NotMeasured: a node that does not measure has no such group, and one that
// cannot says why.
func TestMetrics_NotMeasured(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	code, _ := h.sendRequest("GET", "/apis/metrics.k8s.io/v1beta1/nodes", "", nil)
	assert.Equal(t, http.StatusNotFound, code)
	assert.NotContains(t, h.getText("/apis"), "metrics")
	h = newHarness(t)
	h.config.Stats = measured(func() (node.NodeStats, error) { panic("nothing to read") })
	h.startServer().waitForPods()
	code, text := h.sendRequest("GET", "/apis/metrics.k8s.io/v1beta1/nodes", "", nil)
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, text, `the pods could not be measured: `)
}

// TestUnknown: a path that leads nowhere is 404 whatever is wanted of it.
func TestUnknown(t *testing.T) {
	h := newHarness(t).startServer().waitForPods()
	for _, method := range []string{"GET", "POST", "DELETE"} {
		code, text := h.sendRequest(method, "/apis/apps/v1/namespaces/default/deployments", "{}", nil)
		assert.Equal(t, http.StatusNotFound, code)
		assert.Contains(t, text, `"message":"there are no deployments.apps here: this node has no cluster, and runs pods only","reason":"NotFound"`)
	}
}
