package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// factory creates the metrics of one node and stores them in order.
type factory struct {
	labels     prometheus.Labels
	collectors []prometheus.Collector
}

// register adds a collector to those that the factory has created, and returns it.
func register[C prometheus.Collector](f *factory, c C) C {
	f.collectors = append(f.collectors, c)
	return c
}

// opts returns the options of a metric, with the constant labels of the factory.
func (f *factory) opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Name: name, Help: help, ConstLabels: f.labels}
}

// counter creates and registers a counter.
func (f *factory) counter(name, help string) prometheus.Counter {
	return register(f, prometheus.NewCounter(prometheus.CounterOpts(f.opts(name, help))))
}

// counters creates and registers a counter with labels.
func (f *factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return register(f, prometheus.NewCounterVec(prometheus.CounterOpts(f.opts(name, help)), labels))
}

// gauge creates and registers a gauge.
func (f *factory) gauge(name, help string) prometheus.Gauge {
	return register(f, prometheus.NewGauge(prometheus.GaugeOpts(f.opts(name, help))))
}

// histogramOpts returns the options of a histogram, with the constant labels of the factory.
func (f *factory) histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: f.labels, Buckets: buckets}
}

// histogram creates and registers a histogram.
func (f *factory) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return register(f, prometheus.NewHistogram(f.histogramOpts(name, help, buckets)))
}

// histograms creates and registers a histogram with labels.
func (f *factory) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(f, prometheus.NewHistogramVec(f.histogramOpts(name, help, buckets), labels))
}

// desc creates the description of a metric that is computed at each scrape. It registers nothing.
func (f *factory) desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, f.labels)
}
