package localapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
)

// sizedPod is a Burstable pod with requests and limits of an init container and a container.
const sizedPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{
	"initContainers":[{"name":"i","image":"x:1","resources":{"requests":{"cpu":"100m"}}}],
	"containers":[{"name":"c","image":"x:1","resources":{"requests":{"cpu":"1","ephemeral-storage":"1Gi"},"limits":{"memory":"200Mi"}}}]}}`

// describeSizes returns the cpu requests and memory limits of the containers of pod a, and its generation.
func (h *harness) describeSizes() string {
	h.Helper()
	return sizesOf(getObject[v1.Pod](h, pods+"/a"))
}

func sizesOf(pod v1.Pod) string {
	text := ""
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		text += c.Name + " " + c.Resources.Requests.Cpu().String() + "/" + c.Resources.Limits.Memory().String() + " "
	}
	generation, _ := json.Marshal(pod.Generation)
	return text + "generation " + string(generation)
}

// LA-8, RZ-21: each patch type and a replacement change cpu and memory, and the generation. Metadata and all other
// fields are ignored. The node gets the new spec.
func TestResize_LA8(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	h.createPod(sizedPod)
	w.takeCalls()
	resize := pods + "/a/resize"
	assert.Equal(t, "i 100m/0 c 1/200Mi generation 1", h.describeSizes())

	assert.Equal(t, "200 ", h.describeStatus("PATCH", resize, `{"metadata":{"labels":{"new":"1"}},"spec":{"activeDeadlineSeconds":5,"containers":[{"name":"c","image":"x:2","resources":{"requests":{"cpu":"2"}}}]}}`, "strategic-merge-patch+json"))
	assert.Equal(t, "i 100m/0 c 2/200Mi generation 2", h.describeSizes())
	now := getObject[v1.Pod](h, pods+"/a")
	assert.Equal(t, "x:1", now.Spec.Containers[0].Image)
	assert.Empty(t, now.Labels)
	assert.Nil(t, now.Spec.ActiveDeadlineSeconds)
	assert.Len(t, w.takeCalls(), 1)

	assert.Equal(t, "200 ", h.describeStatus("PATCH", resize, `[{"op":"replace","path":"/spec/containers/0/resources/limits/memory","value":"300Mi"},{"op":"replace","path":"/spec/initContainers/0/resources/requests/cpu","value":"200m"}]`, "json-patch+json"))
	assert.Equal(t, "i 200m/0 c 2/300Mi generation 3", h.describeSizes())

	now = getObject[v1.Pod](h, resize)
	now.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
	text, err := json.Marshal(now)
	require.NoError(t, err)
	assert.Equal(t, "200 ", h.describeStatus("PUT", resize, strings.Replace(string(text), "300Mi", "400Mi", 1), "json"))
	assert.Equal(t, "i 200m/0 c 2/400Mi generation 4", h.describeSizes())
	assert.Equal(t, now.Spec.Containers[0].ResizePolicy, getObject[v1.Pod](h, pods+"/a").Spec.Containers[0].ResizePolicy)
	assert.Contains(t, h.describeStatus("PUT", resize, string(text), "json"), "409 Operation cannot be fulfilled")

	assert.Equal(t, "200 ", h.describeStatus("PATCH", resize+"?dryRun=All", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}}`, "strategic-merge-patch+json"))
	assert.Equal(t, "i 200m/0 c 2/400Mi generation 4", h.describeSizes())
}

// LA-8, RZ-21: what an API server refuses in a resize.
func TestResize_LA8_Refused(t *testing.T) {
	h, w := newWritableAPI(t, t.TempDir())
	static := staticPod("default", "static-n1")
	h.startServer(static).waitForPods()
	h.createPod(sizedPod)
	w.takeCalls()
	resize := pods + "/a/resize"
	strategic := func(patch string) string {
		return h.describeStatus("PATCH", resize, patch, "strategic-merge-patch+json")
	}
	for patch, want := range map[string]string{
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":null}}}]}}`:                       "a resize cannot remove it",
		`{"spec":{"containers":[{"name":"c","resources":{"limits":{"memory":null}}}]}}`:                      "a resize cannot remove it",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"ephemeral-storage":"2Gi"}}}]}}`:        "only cpu and memory can be resized",
		`{"spec":{"containers":[{"name":"c","resources":{"claims":[{"name":"gpu"}]}}]}}`:                     "only cpu and memory can be resized",
		`{"spec":{"containers":[{"name":"d","image":"x"}]}}`:                                                 "a resize cannot add, remove or rename containers",
		`{"spec":{"initContainers":null}}`:                                                                   "a resize cannot add, remove or rename containers",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"memory":"1Gi"}}}]}}`:                   "expected at most the limit, 200Mi",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"-1"}}}]}}`:                       "expected zero or more",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"x"}}}]}}`:                        "quantities must match",
		`{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"100m"}}}]}}`:                       "expected at most the limit, 100m",
		`{"spec":{"containers":[{"name":"c","resizePolicy":[{"resourceName":"disk","restartPolicy":""}]}]}}`: "resizePolicy",
	} {
		assert.Contains(t, strategic(patch), want, patch)
	}
	guaranteed := strings.ReplaceAll(strings.Replace(simple, `"image":"x:1"`, `"image":"x:1","resources":{"limits":{"cpu":"1","memory":"1Gi"}}`, 1), `"a"`, `"g"`)
	h.createPod(guaranteed)
	w.takeCalls()
	assert.Contains(t, h.describeStatus("PATCH", pods+"/g/resize", `{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}}`, "strategic-merge-patch+json"), "the QoS class is Guaranteed, and a resize cannot change it")
	assert.Contains(t, h.describeStatus("PATCH", pods+"/static-n1/resize", `{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}}`, "strategic-merge-patch+json"), "405 pod \"static-n1\" is a static pod")
	assert.Contains(t, h.describeStatus("PATCH", pods+"/none/resize", `{}`, "strategic-merge-patch+json"), "404 ")
	assert.Contains(t, h.describeStatus("POST", resize, sizedPod, "json"), "405 ")
	assert.Contains(t, h.describeStatus("DELETE", resize, "", "json"), "405 ")
	assert.Contains(t, h.describeStatus("PATCH", pods+"/a", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}`, "strategic-merge-patch+json"), "pod updates may not change fields other than", "a normal update changes no resources")
	assert.Equal(t, "i 100m/0 c 1/200Mi generation 1", h.describeSizes())
	assert.Empty(t, w.takeCalls())
}

// LA-8: discovery and OpenAPI have the subresource if the API is writable. A read-only API refuses the write.
func TestResize_LA8_Discovery(t *testing.T) {
	h, _ := newWritableAPI(t, t.TempDir())
	h.startServer().waitForPods()
	names := func(h *harness) (names []string) {
		for _, r := range getObject[metav1.APIResourceList](h, "/api/v1").APIResources {
			if strings.HasSuffix(r.Name, "/resize") {
				names = append(names, r.Name+" "+r.Kind+" "+strings.Join(r.Verbs, ","))
			}
		}
		return names
	}
	assert.Equal(t, []string{"pods/resize Pod get,patch,update"}, names(h))
	assert.Contains(t, h.getText("/openapi/v3/api/v1"), `"/api/v1/namespaces/{namespace}/pods/{name}/resize":{"patch":`)

	reads := newHarness(t).startServer(newPod("default", "a")).waitForPods()
	assert.Empty(t, names(reads))
	assert.Contains(t, reads.describeStatus("PATCH", pods+"/a/resize", `{}`, "merge-patch+json"), "405 this server is read only")
}

// LA-7, LA-8: an acknowledged resize survives a crash of the agent, and the node resizes the running container.
func TestResize_LA8_Restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &box{T: t, machine: memory.New(memory.Config{}), kept: keeping{}}
		b.restartAgent(source.NewHandle())
		defer func() { b.stop() }()
		b.describeAnswer(http.MethodPost, pods, strings.Replace(sizedPod, `"initContainers"`, `"ignored"`, 1))
		time.Sleep(time.Minute)
		container := func() (v1.ContainerStatus, string) {
			pod, found := b.node.Pod(b.node.Pods()[0].UID)
			require.True(t, found)
			require.Equal(t, v1.PodRunning, pod.Status.Phase)
			s := pod.Status.ContainerStatuses[0]
			return s, s.Resources.Requests.Cpu().String() + "/" + s.Resources.Limits.Memory().String()
		}
		before, sizes := container()
		assert.Equal(t, "1/200Mi", sizes)
		assert.Contains(t, b.describeAnswer(http.MethodPatch, pods+"/a/resize", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"},"limits":{"memory":"300Mi"}}}]}}`), "200 a ")
		time.Sleep(time.Second)
		after, sizes := container()
		assert.Equal(t, "2/300Mi", sizes)
		assert.Equal(t, before.ContainerID, after.ContainerID)
		b.restartAgent(source.NewHandle())
		time.Sleep(time.Minute)
		after, sizes = container()
		assert.Equal(t, "2/300Mi", sizes)
		assert.Equal(t, before.ContainerID, after.ContainerID)
	})
}
