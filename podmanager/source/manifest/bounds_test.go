package manifest_test

import (
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// TestDecode_F4_Bombs: small files that expand to huge documents are rejected quickly and without much memory.
func TestDecode_F4_Bombs(t *testing.T) {
	laughs := "a0: &a0 [lol]\n"
	for i := range 20 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	merged := "a0: &a0 {k: v}\n"
	for i := range 20 {
		merged += fmt.Sprintf("a%d: &a%d {<<: [%s], x%d: *a%d, y%d: *a%d}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","), i, i, i, i)
	}
	chain := "a0: &a0 {k: v}\n"
	for i := range 200 {
		chain += fmt.Sprintf("a%d: &a%d {k: *a%d}\n", i+1, i+1, i)
	}
	var growing strings.Builder
	growing.WriteString("a0: &a0 {k: v}\n")
	for i := range 20_000 {
		fmt.Fprintf(&growing, "a%d: &a%d {<<: *a%d, x%d: 1}\n", i+1, i+1, i, i)
	}
	// All of its fields are fields of a pod, so that the schema does not reject it earlier.
	env := strings.Repeat("{name: V, value: x},", 1000)
	pod := "&p {metadata: {name: p}, spec: {containers: [{name: c, image: i, env: &e [" + env + "]}, " +
		strings.Repeat("{name: c, image: i, env: *e},", 300) + "]}}"
	pods := "apiVersion: v1\nkind: PodList\nitems: [" + pod + strings.Repeat(", *p", 300) + "]\n"
	block := ""
	for i := range 1000 {
		block += strings.Repeat(" ", i) + "a:\n"
	}
	// The decoder limits the memory of a manifest. Where integers have 32 bits, an element is half as large, and twice as many
	// elements reach the validation.
	allocated := uint64(200<<20) * 64 / bits.UintSize
	for name, bomb := range map[string]string{
		"aliases of aliases": laughs,
		"merges of merges":   merged,
		"a chain of aliases": chain,
		"pods of aliases":    pods,
		"growing merges":     growing.String(),
		"just not commas":    "[" + strings.Repeat("a,", 199_990) + "]",
		"deep flow":          strings.Repeat("[", 9999),
		"deep closed flow":   strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"deep block":         block,
		"deep JSON":          strings.Repeat(`{"a":`, 9999),
		"deep JSON lists":    strings.Repeat(`[`, 1<<20),
		"commas":             "[" + strings.Repeat(",", 1<<20) + "]",
		"documents":          strings.Repeat("---\na\n", 1<<18),
		"dashes":             strings.Repeat("- ", 1<<19) + "a",
		"question marks":     strings.Repeat("? ", 1<<19) + "a",
		"anchors":            strings.Repeat("&a ", 1<<18) + "a",
		"tags":               strings.Repeat("!a ", 1<<18) + "a",
		"braces":             strings.Repeat("{", 1<<16),
		"quotes":             strings.Repeat("'", 1<<20+1),
		"unknown fields":     "apiVersion: v1\nkind: Pod\n" + manyFields(20_000),
		"a long string":      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: &a " + strings.Repeat("x", 1_300_000) + "}}\nspec:\n  containers:\n  - args:\n" + strings.Repeat("    - *a\n", 60_000),
		"empty containers":   "apiVersion: v1\nkind: Pod\nspec: {containers: [&c {}" + strings.Repeat(", *c", 150_000) + "]}",
		"empty pods":         "apiVersion: v1\nkind: PodList\nitems: [&c {}" + strings.Repeat(", *c", 150_000) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := manifest.Decode([]byte(bomb))
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 20_000, "the message is bounded too")
			// The time depends on the machine and the race detector; the memory does not.
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, allocated, "all that was ever allocated, garbage too")
			t.Logf("%v, %d MiB: %.100s", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, err)
		})
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x%d: 1\n", i)
	}
	return b.String()
}

// TestDecode_F3_NotText: the error says why the bytes are no text, with the line. A byte order mark is no fault.
func TestDecode_F3_NotText(t *testing.T) {
	good := podYAML("p", "i")
	for text, want := range map[string]string{
		"\xfe\xff\x00a":                  "line 1: UTF-16 text; a manifest is UTF-8",
		"\xff\xfea\x00":                  "line 1: UTF-16 text; a manifest is UTF-8",
		"# one\n# \x00 two\n" + good:     "line 2: a NUL byte: not text",
		"# one\n# \n# \xc3\x28\n" + good: "line 3: byte 0xc3 is not UTF-8: not text",
		"\xef\xbb\xbf# \xff\n" + good:    "line 1: byte 0xff is not UTF-8: not text",
		"\xef\xbb\xbf":                   "manifest: empty",
		"\xef\xbb\xbf{\"kind\": \"Pod\"": "line 1: not JSON: unexpected EOF",
	} {
		_, err := manifest.Decode([]byte(text))
		assert.EqualError(t, err, want, "%q", text)
	}
	for _, text := range []string{good, `{"apiVersion": "v1", "kind": "List", "items": []}`} {
		plain, err := manifest.Decode([]byte(text))
		require.NoError(t, err)
		marked, err := manifest.Decode([]byte("\xef\xbb\xbf" + text))
		require.NoError(t, err)
		assert.Equal(t, plain, marked)
	}
}

// TestDecode_F13_ThousandContainers: a pod with a thousand containers is valid.
func TestDecode_F13_ThousandContainers(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  - {name: c%d, image: i}\n", i)
	}
	pods, err := manifest.Decode([]byte(b.String()))
	require.NoError(t, err)
	assert.Len(t, pods[0].Spec.Containers, 1000)
}

// TestDecode_F14_LargeParts: many variables and a long command are valid. More variables than can be handled, and more
// annotations than the API allows, are one clear fault.
func TestDecode_F14_LargeParts(t *testing.T) {
	pods, err := manifest.Decode(manyVariables(20_000))
	require.NoError(t, err)
	assert.Len(t, pods[0].Spec.Containers[0].Env, 20_000)

	_, err = manifest.Decode(manyVariables(100_000))
	assert.EqualError(t, err, "more than 200000 fields, items and lines")

	_, err = manifest.Decode([]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: \"" + strings.Repeat("x", 1<<20) + "\"}}\nspec: {containers: [{name: c, image: i}]}\n"))
	assert.EqualError(t, err, "line 3: metadata.annotations: 1048577 bytes in all: expected at most 262144")
}

func manyVariables(n int) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: i\n    command: [\"" + strings.Repeat("x", 1<<20) + "\"]\n    env:\n")
	for i := range n {
		fmt.Fprintf(&b, "    - {name: V%d, value: x}\n", i)
	}
	return []byte(b.String())
}

// TestDecode_F10_LongNames: long names are cut in errors.
func TestDecode_F10_LongNames(t *testing.T) {
	_, err := manifest.Decode([]byte(podYAML(strings.Repeat("n", 10_000), "i")))
	require.ErrorIs(t, err, manifest.ErrInvalid)
	assert.Less(t, len(err.Error()), 300)
}

// TestDecode_ManyFaults: the list of faults is bounded, and says that there are more.
func TestDecode_ManyFaults(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n")
	for range 100 {
		b.WriteString("  - {}\n")
	}
	_, err := manifest.Decode([]byte(b.String()))
	var faults manifest.Faults
	require.ErrorAs(t, err, &faults)
	assert.Len(t, faults, 51)
	assert.Equal(t, "and more, 200 faults at least", faults[50].String())
	assert.Equal(t, manifest.Fault{Line: 6, Pod: "p", Field: "spec.containers[0].name", Reason: "missing: expected a name"}, faults[0])
}

// TestScan_F4_ManySmallFiles: the memory of all files together is bounded. A file that exceeds the bound is reported,
// keeps its last good version, and is read when there is room.
func TestScan_F4_ManySmallFiles(t *testing.T) {
	d := newDir(t)
	d.open(manifest.Config{Path: d.path, MaxMemory: 1 << 20})
	large := func(name string, args int) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: i, args: [&a " +
			strings.Repeat("x", 1000) + strings.Repeat(", *a", args) + "]}]}\n"
	}
	for _, name := range []string{"a", "b", "c"} {
		d.write(name, large(name, 400))
	}
	assert.Equal(t, "a-n1 b-n1 incomplete [c:0 invalid]", d.scan())
	assert.EqualError(t, d.problems[0].Err, "with the other files of the directory, it needs more than 1 MiB of memory")
	assert.Equal(t, "a-n1 b-n1 incomplete", d.scan(), "told once")
	d.write("a", large("a", 10))
	assert.Equal(t, "a-n1 b-n1 c-n1", d.scan(), "there is room, though nothing of c has changed")
	d.write("b", large("b", 900))
	assert.Equal(t, "a-n1 b-n1 c-n1 [b:0 invalid kept]", d.scan())
	d.remove("c")
	d.scan()
	snapshot, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	require.Len(t, snapshot.Pods, 2)
	assert.Len(t, snapshot.Pods[1].Spec.Containers[0].Args, 901)
}
