package metrics

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// resources has the metrics of /metrics/resource. Each has the time of its measurement. A metric without a
// known value is left out.
type resources struct {
	reader node.StatsReader
	descs  map[string]*prometheus.Desc
}

// resourceTimeout bounds a call of NodeStats.
const resourceTimeout = time.Minute

// NewResources returns the collector of the kubelet's resource endpoint: the usage of a node, its pods and its
// containers. It reads only Config.Node, and calls the reader at each scrape.
func NewResources(config Config, reader node.StatsReader) prometheus.Collector {
	f := &factory{}
	if config.Node != "" {
		f.labels = prometheus.Labels{"node": config.Node}
	}
	r := &resources{reader: reader, descs: make(map[string]*prometheus.Desc)}
	pod, container := []string{"pod", "namespace"}, []string{"container", "pod", "namespace"}
	for _, d := range []struct {
		name, help string
		labels     []string
	}{
		{"node_cpu_usage_seconds_total", "Processor time that the node has used.", nil},
		{"node_memory_working_set_bytes", "Working set of the node.", nil},
		{"pod_cpu_usage_seconds_total", "Processor time that the pod has used.", pod},
		{"pod_memory_working_set_bytes", "Working set of the pod.", pod},
		{"container_cpu_usage_seconds_total", "Processor time that the container has used.", container},
		{"container_memory_working_set_bytes", "Working set of the container.", container},
		{"container_start_time_seconds", "Unix time of the start of the container.", container},
		{"container_swap_usage_bytes", "Swap space that the container uses.", container},
		{"container_swap_limit_bytes", "Swap space that the container may use.", container},
		{"resource_scrape_error", "1 if the usage could not be read, 0 otherwise.", nil},
	} {
		r.descs[d.name] = f.desc(d.name, d.help, d.labels...)
	}
	return r
}

// Describe implements prometheus.Collector.
func (r *resources) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range r.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (r *resources) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), resourceTimeout)
	defer cancel()
	s := scrape{r.descs, ch}
	stats, err := r.reader.NodeStats(ctx)
	if s.sendWithTimeUnlessZero("resource_scrape_error", prometheus.GaugeValue, float64(boolToInt(err != nil)), time.Time{}); err != nil {
		return
	}
	s.sendUsage("node", stats.CPU, stats.Memory)
	for _, p := range stats.Pods {
		s.sendUsage("pod", p.CPU, p.Memory, p.Name, p.Namespace)
		for _, c := range p.Containers {
			s.sendContainer(c, c.Name, p.Name, p.Namespace)
		}
	}
}

// scrape sends the metrics of one scrape.
type scrape struct {
	descs map[string]*prometheus.Desc
	ch    chan<- prometheus.Metric
}

// sendUsage sends the CPU time and the memory of a node, a pod or a container, each only if it is known. prefix
// begins the names of the metrics.
func (s scrape) sendUsage(prefix string, cpu *runtime.CPUStats, memory *runtime.MemoryStats, labels ...string) {
	if cpu != nil && cpu.UsageCoreNanoSeconds != nil {
		s.sendWithTimeUnlessZero(prefix+"_cpu_usage_seconds_total", prometheus.CounterValue, float64(*cpu.UsageCoreNanoSeconds)/float64(time.Second), cpu.At, labels...)
	}
	if memory != nil && memory.WorkingSetBytes != nil {
		s.sendWithTimeUnlessZero(prefix+"_memory_working_set_bytes", prometheus.GaugeValue, float64(*memory.WorkingSetBytes), memory.At, labels...)
	}
}

// sendContainer sends the CPU time, memory, start time and swap of a container, each only if it is known.
func (s scrape) sendContainer(c runtime.ContainerStats, labels ...string) {
	s.sendUsage("container", c.CPU, c.Memory, labels...)
	if !c.StartedAt.IsZero() {
		s.sendWithTimeUnlessZero("container_start_time_seconds", prometheus.GaugeValue, float64(c.StartedAt.UnixNano())/float64(time.Second), time.Time{}, labels...)
	}
	if w := c.Swap; w != nil && w.UsageBytes != nil {
		s.sendWithTimeUnlessZero("container_swap_usage_bytes", prometheus.GaugeValue, float64(*w.UsageBytes), w.At, labels...)
		if w.AvailableBytes != nil {
			s.sendWithTimeUnlessZero("container_swap_limit_bytes", prometheus.GaugeValue, float64(*w.AvailableBytes+*w.UsageBytes), w.At, labels...)
		}
	}
}

// sendWithTimeUnlessZero sends one value of a metric, with the time of its measurement unless at is zero. It
// replaces invalid UTF-8 in the labels, because the Prometheus library panics for it.
func (s scrape) sendWithTimeUnlessZero(name string, kind prometheus.ValueType, value float64, at time.Time, labels ...string) {
	for i, label := range labels { // A runtime may report a name that is not UTF-8. The library panics for such labels.
		labels[i] = strings.ToValidUTF8(label, "\uFFFD")
	}
	metric := prometheus.MustNewConstMetric(s.descs[name], kind, value, labels...)
	if !at.IsZero() {
		metric = prometheus.NewMetricWithTimestamp(at, metric)
	}
	s.ch <- metric
}
