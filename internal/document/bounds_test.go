package document_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/document"
)

// bounds are small, so that a test can pass them.
var bounds = document.Bounds{Bytes: 1 << 20, Memory: 4 << 20}

// decodePods reads all documents as lists of pods.
func decodePods(text string) (*document.File, document.Faults) {
	file, faults := document.Read([]byte(text), bounds)
	for _, doc := range file.Documents {
		var list v1.PodList
		_, more := file.Decode(doc, &list)
		faults = append(faults, more...)
	}
	return file, faults.InOrder()
}

// aliasList returns a list of n aliases.
func aliasList(name string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat("*"+name+",", n), ",") + "]"
}

// TestRead_F4_Bombs: a file of less than a MiB that would become a much larger thing
// in memory is rejected before anything is expanded, with the line and the bound.
func TestRead_F4_Bombs(t *testing.T) {
	long := strings.Repeat("x", 1000)
	laughs := "a0: &a0 [lol]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("a%d: &a%d %s\n", i+1, i+1, aliasList(fmt.Sprintf("a%d", i), 10))
	}
	words := "a0: &a0 " + long + "\n"
	for i := range 5 {
		words += fmt.Sprintf("a%d: &a%d %s\n", i+1, i+1, aliasList(fmt.Sprintf("a%d", i), 10))
	}
	merges := "a0: &a0 {" + strings.Repeat("k", 1000) + ": v}\n" + repeatNumbered("b%[1]d: {<<: *a0}\n", 3000)
	growing := "a0: &a0 {k: v}\n" + repeatNumbered("a%[2]d: &a%[2]d {<<: *a%[1]d, x%[1]d: 1}\n", 20_000)
	document1000 := "---\na: &a " + strings.Repeat("x", 500) + "\nb: " + aliasList("a", 20) + "\n"
	empty := func(what string, n int) string { return what + ": [" + strings.Repeat("{},", n) + "{}]\n" }
	for name, c := range map[string]struct{ text, want string }{
		"a long string behind aliases": {"a: &a " + strings.Repeat("x", 100_000) + "\nb:\n" + strings.Repeat("- *a\n", 60_000), "line 3: more than 1 MiB once aliases are written out"},
		"aliases in one field each":    {"a: &a " + strings.Repeat("x", 100_000) + "\n" + repeatNumbered("b%[1]d: *a\n", 60_000), "line 1: more than 1 MiB once aliases are written out"},
		"a long string in aliases":     {words, "line 5: more than 1 MiB once aliases are written out"},
		"billion laughs":               {laughs, "line 6: more than 200000 values once aliases are written out"},
		"a key behind aliases":         {"a: &a {? " + long + " : v}\nb: " + aliasList("a", 2000), "line 2: more than 1 MiB once aliases are written out"},
		"a long key in merges":         {merges, "line 1: more than 1 MiB once aliases are written out"},
		"growing merges":               {growing, "line 633: more than 200000 fields from merge keys"},
		"many documents with aliases":  {strings.Repeat(document1000, 200), "line 299: more than 1 MiB once aliases are written out"},
		"many documents":               {strings.Repeat("---\na\n", 150_000), "more than 200000 fields, items and lines"},
		"an alias as a key":            {"a: &a " + long + "\n? *a\n: v\n", "line 2: a key must be a plain word"},
		"a huge key":                   {strings.Repeat("k", 1<<20+1) + ": v", "larger than 1 MiB"},
		"a long unknown anchor":        {"a: *" + strings.Repeat("z", 300_000), "zzz..."},
		"long unknown fields":          {`{"items": [{` + repeatNumbered(`"x%[1]d`+strings.Repeat("f", 9000)+`": 1, `, 100) + `"kind": "Pod"}]}`, "f...: unknown field"},
		"deep nesting":                 {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "line 1: not JSON: nested deeper than 100 levels"},
		"deep nesting over lines":      {nestedLines(200), "line 102: nested deeper than 100 levels"},
		"a chain of aliases":           {"a0: &a0 {k: v}\n" + aliasChain(200), "line 100: nested deeper than 100 levels"},
		"deep JSON":                    {strings.Repeat(`{"a":`, 5000), "line 1: not JSON: nested deeper than 100 levels"},
		"JSON of commas":               {"[" + strings.Repeat("0,", 300_000) + "0]", "more than 200000 fields, items and lines"},
		"empty pods":                   {empty("items", 20_000), "line 1: items[N]: with what stands before it, it needs more than 4 MiB of memory"},
		"empty containers":             {"items: [{spec: {" + empty("containers", 40_000) + "}}]", "line 1: items[0].spec.containers[N]: with what stands before it, it needs more than 4 MiB of memory"},
		"empty containers as JSON":     {`{"items": [{"spec": {"containers": [` + strings.Repeat("{},", 40_000) + `{}]}}]}`, "line 1: items[0].spec.containers[N]: with what stands before it, it needs more than 4 MiB of memory"},
		"aliases of empty pods":        {"items: [&a {}, " + aliasList("a", 30_000)[1:], "line 1: items[N]: with what stands before it, it needs more than 4 MiB of memory"},
		"documents of empty pods":      {strings.Repeat("---\n"+empty("items", 30), 1000), "items[N]: with what stands before it, it needs more than 4 MiB of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, faults := decodePods(c.text)
			runtime.ReadMemStats(&after)
			require.NotEmpty(t, faults)
			// How much memory a type takes is the library's and the machine's business.
			said := regexp.MustCompile(`\[\d+\]: with`).ReplaceAllString(faults.Error(), "[N]: with")
			assert.Contains(t, said, c.want, "%.300s", said)
			assert.Less(t, len(said), 20_000)
			took := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB of text took %d KiB", len(c.text)>>10, took>>10)
			assert.Less(t, took, uint64(100<<20), "all that was ever allocated, garbage too")
		})
	}
}

// repeatNumbered repeats a text n times. It replaces %[1]d with the number and %[2]d with the next number.
func repeatNumbered(format string, n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.NewReplacer("%[1]d", strconv.Itoa(i), "%[2]d", strconv.Itoa(i+1)).Replace(format))
	}
	return s.String()
}

// nestedLines returns n nested maps with each level on its own line.
func nestedLines(n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return s.String()
}

func aliasChain(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "a%d: &a%d {k: *a%d}\n", i+1, i+1, i)
	}
	return s.String()
}

// TestRead_F5_LargeFiles: a large file without aliases is read.
func TestRead_F5_LargeFiles(t *testing.T) {
	b := document.Bounds{Bytes: 10 << 20, Memory: 32 << 20}
	for name, text := range map[string]string{
		"a long text":          "metadata: {annotations: {a: " + strings.Repeat("x", 9<<20) + "}}",
		"a text as JSON":       `{"metadata": {"annotations": {"a": "` + strings.Repeat("<", 9<<20) + `"}}}`,
		"a thousand variables": "spec: {containers: [{env: [" + repeatNumbered("{name: a%[1]d, value: x},", 30_000) + "]}]}",
		"aliases that fit":     "metadata: {annotations: {a: &a " + strings.Repeat("x", 1<<20) + ", b: *a, c: *a, d: *a}}",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			file, faults := document.Read([]byte(text), b)
			require.Empty(t, faults)
			var pod v1.Pod
			missing, faults := file.Decode(file.Documents[0], &pod)
			runtime.ReadMemStats(&after)
			require.Empty(t, faults)
			assert.Empty(t, missing)
			assert.Positive(t, file.Memory())
			took := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB of text took %d KiB", len(text)>>10, took>>10)
			assert.Less(t, took, uint64(200<<20))
		})
	}
}
