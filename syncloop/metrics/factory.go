package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// factory creates the metrics of one node and stores them in order.
type factory struct {
	labels     prometheus.Labels
	collectors []prometheus.Collector
}

// addToCollectors adds a collector to the list of collectors that are registered later, and returns it.
func addToCollectors[C prometheus.Collector](f *factory, c C) C {
	f.collectors = append(f.collectors, c)
	return c
}

// opts returns the options of a metric, with the constant labels of the factory.
func (f *factory) opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Name: name, Help: help, ConstLabels: f.labels}
}

// counter creates a counter without labels, to be registered with the other collectors.
func (f *factory) counter(name, help string) prometheus.Counter {
	return addToCollectors(f, prometheus.NewCounter(prometheus.CounterOpts(f.opts(name, help))))
}

// counterVec creates a counter with labels, to be registered with the other collectors.
func (f *factory) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return addToCollectors(f, prometheus.NewCounterVec(prometheus.CounterOpts(f.opts(name, help)), labels))
}

// gauge creates a gauge, to be registered with the other collectors.
func (f *factory) gauge(name, help string) prometheus.Gauge {
	return addToCollectors(f, prometheus.NewGauge(prometheus.GaugeOpts(f.opts(name, help))))
}

// histogramOpts returns the options of a histogram, with the constant labels of the factory.
func (f *factory) histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: f.labels, Buckets: buckets}
}

// histogram creates a histogram without labels, to be registered with the other collectors.
func (f *factory) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return addToCollectors(f, prometheus.NewHistogram(f.histogramOpts(name, help, buckets)))
}

// histogramVec creates a histogram with labels, to be registered with the other collectors.
func (f *factory) histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return addToCollectors(f, prometheus.NewHistogramVec(f.histogramOpts(name, help, buckets), labels))
}

// desc creates the description of a metric that is computed at each scrape, with the constant labels of the
// factory. It registers nothing.
func (f *factory) desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, f.labels)
}
