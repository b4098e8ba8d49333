package objects_test

import (
	stdruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/podsync/objects"
)

// TestFiles_F4_Bombs: a manifest that is a much larger object once aliases are
// written out is an error with the file, the line and the bound, before anything is
// expanded.
func TestFiles_F4_Bombs(t *testing.T) {
	long := strings.Repeat("x", 600_000)
	for name, c := range map[string]struct{ text, want string }{
		"values":    {"DATA:\n  a: &a " + long + "\n" + repeated("  %: *a\n", 60_000), "line 2: more than 2 MiB once aliases are written out"},
		"keys":      {"DATA: &a\n  ? " + strings.Repeat("k", 300_000) + "\n  : v\nmetadata: {labels: *a, annotations: *a, finalizers: [*a, *a, *a, *a, *a]}\n", "line 4: more than 2 MiB once aliases are written out"},
		"merges":    {"DATA: &a\n  ? " + strings.Repeat("k", 300_000) + "\n  : v\nmetadata:\n" + repeated("  %: {<<: *a}\n", 1000), "line 5: more than 2 MiB once aliases are written out"},
		"deep":      {"DATA: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "line 1: nested deeper than 100 levels"},
		"documents": {strings.Repeat("---\nDATA: {a: b}\n", 100), "line 4: another document: expected one object in a file"},
		"fields":    {"metadata: {managedFields: [&a {}" + strings.Repeat(", *a", 100_000) + "]}", "needs more than 4 MiB of memory"},
		"sum":       {"DATA: {a: " + long + ", b: " + long + "}", "its keys and values have 1200002 bytes: expected at most 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			config, secret := strings.ReplaceAll(c.text, "DATA", "data"), strings.ReplaceAll(c.text, "DATA", "stringData")
			f, _ := files(t, map[string]string{"configmaps/ns/x.yaml": config, "secrets/ns/x.yaml": secret})
			var m objects.Map
			var before, after stdruntime.MemStats
			stdruntime.ReadMemStats(&before)
			_, ofConfigMap := f.ConfigMap(background, "ns", "x")
			_, ofSecret := f.Secret(background, "ns", "x")
			ofMap := m.Load(fstest.MapFS{"configmaps/ns/x.yaml": {Data: []byte(config)}})
			stdruntime.ReadMemStats(&after)
			for _, err := range []error{ofConfigMap, ofSecret, ofMap} {
				require.ErrorContains(t, err, c.want)
				if name != "sum" {
					assert.ErrorContains(t, err, "/ns/x.yaml: ")
				}
				assert.Less(t, len(err.Error()), 20_000)
			}
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20), "three readings; the race detector needs a sixth more")
		})
	}
}

func repeated(line string, n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.Replace(line, "%", "k"+strconv.Itoa(i), 1))
	}
	return s.String()
}

// TestFiles_Scalars are texts where texts are expected.
func TestFiles_Scalars(t *testing.T) {
	f, _ := files(t, map[string]string{"configmaps/ns/x.yaml": "data: {int: 8080, hex: 0x10, float: 1.50, bool: yes, text: '1.50'}\n"})
	m, err := f.ConfigMap(background, "ns", "x")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"int": "8080", "hex": "16", "float": "1.5", "bool": "true", "text": "1.50"}, m.Data)
}

// TestFiles_AllFaults checks that one error names all faults of a manifest with their lines.
func TestFiles_AllFaults(t *testing.T) {
	f, _ := files(t, map[string]string{"configmaps/ns/x.yaml": "kind: ConfigMap\nDATA: {}\ndata:\n  port: [8080]\n  a: b\n  a: c\n"})
	_, err := f.ConfigMap(background, "ns", "x")
	assert.EqualError(t, err, `objects: ConfigMap ns/x: configmaps/ns/x.yaml: line 2: DATA: unknown field (did you mean "data"?)
line 4: data[port]: a list: expected a string
line 6: duplicate field "a" (first on line 5)`)
}
