package nodetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// listRecorder stores the reasons of events.
type listRecorder struct{ reports *[]string }

// Event implements runtime.EventRecorder.
func (r listRecorder) Event(_ k8sruntime.Object, _, reason, _ string) {
	*r.reports = append(*r.reports, "event "+reason)
}

// Eventf implements runtime.EventRecorder.
func (r listRecorder) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	r.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

// annotatedListRecorder also stores the annotations of events.
type annotatedListRecorder struct{ listRecorder }

// AnnotatedEventf stores the reason and the annotations of an event.
func (r annotatedListRecorder) AnnotatedEventf(_ k8sruntime.Object, annotations map[string]string, _, reason, _ string, _ ...any) {
	*r.reports = append(*r.reports, fmt.Sprint("event ", reason, " ", annotations))
}

// TestSimulation_AnnotatedEvents: a recorder that can add annotations gets the annotations of an eviction.
func TestSimulation_AnnotatedEvents(t *testing.T) {
	var reports []string
	b := nodetest.New(t, nodetest.Config{Configure: func(c *node.Config) { c.Recorder = annotatedListRecorder{listRecorder{&reports}} }})
	b.Apply(webPod("web"))
	b.Run(time.Second)
	_, err := b.Node().Evict("uid-web", node.Eviction{Annotations: map[string]string{"starved_containers": "c"}})
	require.NoError(t, err)
	b.Run(time.Second)
	assert.Contains(t, reports, "event Evicted map[starved_containers:c]")
	b.Stop()
}

// TestSimulation_CrashedNodeReportsNothing: code of a crashed node returns from its calls with an error and then reports
// no event, no status and no timeline record. The calls that the crash cuts off would be reported as failed.
func TestSimulation_CrashedNodeReportsNothing(t *testing.T) {
	for at := range 40 {
		var reports []string
		b := nodetest.New(t, nodetest.Config{Configure: func(c *node.Config) {
			c.Recorder = listRecorder{&reports}
			c.Hooks.Status = func(*v1.Pod, *v1.PodStatus) { reports = append(reports, "status") }
			c.Hooks.Timeline = func(types.UID, timeline.Record) { reports = append(reports, "timeline") }
		}})
		b.Apply(webPod("web"))
		b.Apply(newPod("job", []string{"sleep", "1"}))
		for range at {
			b.Step()
		}
		before := strings.Join(reports, " ")
		b.Crash()
		assert.Equal(t, before, strings.Join(reports, " "), "crash at step %d", at)
		reports = nil
		b.Start()
		b.Run(time.Second)
		assert.Contains(t, reports, "status", "the next node reports")
		b.Stop()
	}
}
