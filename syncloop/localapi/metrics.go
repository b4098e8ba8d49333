package localapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

const (
	metricsGroup = "metrics.k8s.io"
	metricsPath  = "/apis/" + metricsGroup + "/v1beta1/"
	// metricsWindow is the time over which a rate is measured.
	metricsWindow = 10 * time.Second
)

// resourceMetrics is a PodMetrics or a NodeMetrics.
type resourceMetrics struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Timestamp         metav1.Time        `json:"timestamp"`
	Window            metav1.Duration    `json:"window"`
	Usage             v1.ResourceList    `json:"usage,omitempty"`
	Containers        []containerMetrics `json:"containers,omitempty"`
}

type containerMetrics struct {
	Name  string          `json:"name"`
	Usage v1.ResourceList `json:"usage"`
}

// metricsResources returns the resources of metrics.k8s.io.
func metricsResources() groupVersionResources {
	verbs := metav1.Verbs{"get", "list"}
	return groupVersionResources{group: metricsGroup, version: "v1beta1", resources: []metav1.APIResource{
		{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs},
		{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs},
	}}
}

// metricsServer serves metrics.k8s.io.
type metricsServer struct{ *backend }

// serveMetrics serves get and list requests for the CPU and memory usage of pods and of the node. Other
// methods, paths and watches are errors.
func (s *metricsServer) serveMetrics(w http.ResponseWriter, r *http.Request) {
	t, ok := s.parseTarget("", strings.Split(strings.TrimPrefix(r.URL.Path, metricsPath), "/"))
	if !ok || s.config.Stats == nil || t.subresource != "" || t.resource.Name != "pods" && t.resource.Name != "nodes" {
		sendError(w, errNoSuchPath())
		return
	}
	group := schema.GroupResource{Group: metricsGroup, Resource: t.resource.Name}
	o, err := t.resource.parseOptions(r.URL.Query())
	if err == nil {
		err = s.checkAvailable()
	}
	switch {
	case err != nil:
	case r.Method != http.MethodGet:
		err = apierrors.NewMethodNotSupported(group, strings.ToLower(r.Method))
	case o.watch:
		err = apierrors.NewMethodNotSupported(group, "watch")
	}
	if err != nil {
		sendError(w, err)
		return
	}
	o.namespace, o.name = t.namespace, t.name
	s.sendMetrics(w, r, t.resource, group, o)
}

// sendMetrics sends the metrics of the pods or of the node that match the options. A request with a name gets
// one object or a 404, and a request without a name gets a list. If the stats cannot be read, it logs the error
// and sends a 503.
func (s *metricsServer) sendMetrics(w http.ResponseWriter, r *http.Request, measured *resource, group schema.GroupResource, o options) {
	stats, err := s.readStats(r.Context())
	if err != nil {
		s.log.Warn("pods could not be measured", "err", err)
		sendError(w, apierrors.NewServiceUnavailable("the pods could not be measured: "+plain.Text(err.Error())))
		return
	}
	list := objectList{Items: []any{}}
	list.APIVersion, list.Kind = metricsGroup+"/v1beta1", measured.Kind+"MetricsList"
	all := s.podMetricsList(stats)
	if measured.Kind == "Node" {
		all = []*resourceMetrics{s.nodeMetrics(stats)}
	}
	for _, m := range all {
		shown := measured.shownObjectOrNil(m.Namespace, m.Name)
		if !o.matches(measured, shown) {
			continue
		}
		m.Labels = shown.GetLabels()
		m.APIVersion, m.Kind = list.APIVersion, measured.Kind+"Metrics"
		list.Items = append(list.Items, m)
	}
	switch {
	case o.name == "":
		sendJSON(w, http.StatusOK, list)
	case len(list.Items) == 0:
		sendError(w, apierrors.NewNotFound(group, o.name))
	default:
		sendJSON(w, http.StatusOK, list.Items[0])
	}
}

// readStats returns the stats of Config.Stats. It returns an error if Config.Stats panics.
func (s *metricsServer) readStats(ctx context.Context) (stats node.NodeStats, err error) {
	defer s.panics.Recover("NodeStats", &err)
	return s.config.Stats.NodeStats(ctx)
}

// podMetricsList returns the metrics of the pods that clients see, as a metrics server does. It skips a pod
// without containers, a pod whose stats have an error, and a pod with a container whose CPU or memory usage is
// unknown.
func (s *metricsServer) podMetricsList(stats node.NodeStats) (all []*resourceMetrics) {
	for i := range stats.Pods {
		pod := &stats.Pods[i]
		m := &resourceMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, CreationTimestamp: metav1.NewTime(s.now().Truncate(time.Second))}}
		for j := range pod.Containers {
			if c := &pod.Containers[j]; m.setTimeFromSample(c) {
				m.Containers = append(m.Containers, containerMetrics{c.Name, containerUsage(c)})
			}
		}
		if shown := s.served["pods"].shownObjectOrNil(pod.Namespace, pod.Name); pod.Err == nil && shown != nil && shown.GetUID() == pod.UID && len(m.Containers) > 0 && len(m.Containers) == len(pod.Containers) {
			all = append(all, m)
		}
	}
	return all
}

// nodeMetrics returns the sum of the usage of all containers, as the metrics of the node. Containers with
// unknown usage are left out. The timestamp is the time of the oldest sample.
func (s *metricsServer) nodeMetrics(stats node.NodeStats) *resourceMetrics {
	now := metav1.NewTime(s.now().Truncate(time.Second))
	m := &resourceMetrics{ObjectMeta: metav1.ObjectMeta{Name: s.config.NodeName, CreationTimestamp: now}, Timestamp: now, Window: metav1.Duration{Duration: metricsWindow}}
	var cpu, memory uint64
	for i := range stats.Pods {
		for j := range stats.Pods[i].Containers {
			if c := &stats.Pods[i].Containers[j]; m.setTimeFromSample(c) {
				cpu += *currentOrMeanCPUNanoCores(c)
				memory += *c.Memory.WorkingSetBytes
			}
		}
	}
	m.Usage = usageList(cpu, memory)
	return m
}

// setTimeFromSample sets the window of the metrics. It sets their timestamp to the time of a container's CPU sample
// if they have no timestamp or a later one. It returns false and changes nothing if the CPU or memory usage of
// the container is unknown.
func (m *resourceMetrics) setTimeFromSample(c *runtime.ContainerStats) (usageKnown bool) {
	if currentOrMeanCPUNanoCores(c) == nil || c.Memory == nil || c.Memory.WorkingSetBytes == nil {
		return false
	}
	if m.Timestamp.IsZero() || c.CPU.At.Before(m.Timestamp.Time) {
		m.Timestamp = metav1.NewTime(c.CPU.At.Truncate(time.Second))
	}
	m.Window.Duration = metricsWindow
	return true
}

// currentOrMeanCPUNanoCores returns the CPU usage of a container in billionths of a core, or nil if it is unknown. If the
// runtime reports no current usage, it returns the mean since the container started.
func currentOrMeanCPUNanoCores(c *runtime.ContainerStats) *uint64 {
	switch {
	case c.CPU == nil:
		return nil
	case c.CPU.UsageNanoCores != nil:
		return c.CPU.UsageNanoCores
	case c.CPU.UsageCoreNanoSeconds == nil || c.StartedAt.IsZero() || !c.CPU.At.After(c.StartedAt):
		return nil
	}
	return new(uint64(float64(*c.CPU.UsageCoreNanoSeconds) / c.CPU.At.Sub(c.StartedAt).Seconds()))
}

// containerUsage returns the CPU and memory usage of a container. It panics if one of them is unknown.
func containerUsage(c *runtime.ContainerStats) v1.ResourceList {
	return usageList(*currentOrMeanCPUNanoCores(c), *c.Memory.WorkingSetBytes)
}

// usageList returns a resource list of a CPU usage in billionths of a core and a memory usage in bytes.
func usageList(nanoCores, bytes uint64) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *apiresource.NewScaledQuantity(int64(nanoCores), apiresource.Nano),
		v1.ResourceMemory: *apiresource.NewQuantity(int64(bytes), apiresource.BinarySI),
	}
}
