package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Buckets of the kubelet's histograms.
var (
	// startBuckets are the buckets of the service level of pod starts.
	startBuckets = []float64{.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
	pullBuckets  = []float64{1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
	sendBuckets  = []float64{.01, .05, .1, .5, 1, 5, 10, 20, 30, 45, 60}
	callBuckets  = prometheus.ExponentialBuckets(.005, 2.5, 14)
	// requestBuckets are the buckets of client-go for requests to an API server.
	requestBuckets = []float64{.005, .025, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60}
	countBuckets   = prometheus.ExponentialBuckets(1, 2, 5)
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// imageSizes are the values of the label image_size_in_bytes, each with the size above which it applies.
var imageSizes = []struct {
	above uint64
	label string
}{
	{100 * gib, "GT100GB"}, {60 * gib, "60GB-100GB"}, {40 * gib, "40GB-60GB"}, {30 * gib, "30GB-40GB"},
	{20 * gib, "20GB-30GB"}, {10 * gib, "10GB-20GB"}, {5 * gib, "5GB-10GB"}, {gib, "1GB-5GB"},
	{500 * mib, "500MB-1GB"}, {100 * mib, "100MB-500MB"}, {10 * mib, "10MB-100MB"}, {0, "0-10MB"},
}

// imageSizeLabel returns the size class of an image, the value of the label image_size_in_bytes. It returns
// "N/A" for an unknown size.
func imageSizeLabel(bytes uint64) string {
	for _, class := range imageSizes {
		if bytes > class.above {
			return class.label
		}
	}
	return "N/A"
}
