package metrics_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/metrics"
	"github.com/podkeel/podkeel/syncloop/node"
)

// names returns the names of all metrics of a collector.
func names(c prometheus.Collector) (list []string) {
	ch := make(chan *prometheus.Desc, 1000)
	c.Describe(ch)
	close(ch)
	for d := range ch {
		list = append(list, regexp.MustCompile(`fqName: "([^"]*)"`).FindStringSubmatch(d.String())[1])
	}
	return list
}

// Each metric has a value in a test and a row in METRICS.md.
func TestEveryMetricIsTestedAndDocumented(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	golden, err := filepath.Glob("testdata/*.prom")
	require.NoError(t, err)
	var tested strings.Builder
	for _, name := range append(files, golden...) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		tested.Write(text)
	}
	text, err := os.ReadFile("METRICS.md")
	require.NoError(t, err)
	for _, name := range append(names(metrics.New(metrics.Config{})), names(metrics.NewResources(metrics.Config{}, nil))...) {
		shown := regexp.MustCompile(`(?m)^` + name + `(_sum)?(\{.*\})? `)
		assert.True(t, shown.MatchString(tested.String()), "no test shows a value of %s", name)
		assert.True(t, strings.Contains(string(text), "| `"+name+"` |"), "METRICS.md has no %s", name)
	}
}

// unused are the hooks without a metric: another metric already counts the same.
var unused = map[string]bool{
	"Hooks.Workers.Syncing":  true, // the status of the pod tells
	"Hooks.Evictor.Changed":  true, // the conditions of the node tell
	"Hooks.Evictor.Acting":   true, // the evictions tell
	"Hooks.Timeline":         true, // the other hooks tell of the same
	"memory.CallContext":     true, // memory.Call is called for the same calls
	"Hooks.Sources.Panicked": true, "Hooks.Statuses.Panicked": true, "Hooks.Sender.Panicked": true, "Hooks.PLEG.Panicked": true,
	"Hooks.Prober.Panicked": true, "Hooks.Syncer.Panicked": true, "Hooks.Images.Panicked": true, // Hooks.Panicked counts them
}

// Each hook of a node and of its parts is set.
func TestEveryHookIsFilled(t *testing.T) {
	var config node.Config
	metrics.New(metrics.Config{}).Instrument(&config)
	assert.Empty(t, empty("Hooks", reflect.ValueOf(config.Hooks)))
	m := metrics.New(metrics.Config{})
	assert.Empty(t, empty("memory", reflect.ValueOf(m.MemoryHooks())))
	assert.Empty(t, empty("faulty", reflect.ValueOf(m.FaultyHooks())))
	assert.Empty(t, empty("agent", reflect.ValueOf(m.AgentHooks())))
}

func empty(name string, v reflect.Value) (list []string) {
	for i := range v.NumField() {
		field := name + "." + v.Type().Field(i).Name
		switch f := v.Field(i); {
		case f.Kind() == reflect.Struct:
			list = append(list, empty(field, f)...)
		case f.IsNil() != unused[field]:
			list = append(list, field)
		}
	}
	return list
}

// An existing hook is called before the hook of the metrics.
func TestInstrument_KeepsExistingHooks(t *testing.T) {
	called := ""
	config := node.Config{}
	config.Hooks.Workers.Panicked = func(call string, _ error) { called = call }
	m := metrics.New(metrics.Config{})
	m.Instrument(&config)
	config.Hooks.Workers.Panicked("Recorder.Event", nil)
	assert.Equal(t, "Recorder.Event", called)
	assert.Contains(t, exposition(t, m), `podkeel_panics_total{call="Recorder.Event"} 1`)
}
