package document_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/document"
)

// emoji is JSON, and no YAML, which does not know surrogates.
const emoji = `"\ud83d\ude00"`

// TestRead_AtTheBound: a document at a bound is read. One value more is a fault, with the line of the innermost value
// that exceeds the bound.
func TestRead_AtTheBound(t *testing.T) {
	nested := func(open, inner, shut string, levels int) string {
		return strings.Repeat(open, levels-1) + inner + strings.Repeat(shut, levels-1)
	}
	// 2 and 271 times 738 values are 200 000.
	values := "a: &a [" + strings.Repeat("x,", 736) + "x]\nb: " + aliasList("a", 270) + "\n"
	// 500 times 400 fields are 200 000.
	merges := "a: &a {" + repeatNumbered("k%[1]d: v,", 400) + "}\nb: {<<: " + aliasList("a", 500) + "}\n"
	bytes52 := "a: &a xxxxxxxxxx\nb: [*a,*a,*a,*a]\n"
	for name, c := range map[string]struct {
		bytes    int64
		at, over string
		want     string
	}{
		"levels":                     {1 << 20, "k: " + nested("[", "a", "]", 99), "k: " + nested("[", "a", "]", 100), "nested deeper than 100 levels"},
		"levels of lists over lines": {1 << 20, "a", deepList(200), "line 102: nested deeper than 100 levels"},
		"levels of JSON":             {1 << 20, nested("[", emoji, "]", 100), nested("[", emoji, "]", 101), "line 1: not JSON: nested deeper than 100 levels"},
		"levels before the end":      {1 << 20, "a", strings.Repeat("[", 5000), "line 1: not JSON: nested deeper than 100 levels"},
		"values":                     {1 << 20, values, values + "c: x", "line 1: more than 200000 values once aliases are written out"},
		"values of one part":         {1 << 20, values, "x:\n  " + strings.ReplaceAll(values, "\nb", "\n  b"), "line 1: more than 200000 values"},
		"values of JSON":             {1 << 20, "[]" + strings.Repeat(" 0", 199_999), "[]" + strings.Repeat(" 0", 200_000), "line 1: not JSON: more than 200000 values"},
		"fields from merge keys":     {1 << 20, merges, merges + "c: {<<: {k: v}}", "line 3: more than 200000 fields from merge keys"},
		"marks":                      {1 << 20, "a: b #" + strings.Repeat(",", 199_999), "a: b #" + strings.Repeat(",", 200_000), "more than 200000 fields, items and lines"},
		"bytes of the text":          {4, "a: b", "a: bc", "larger than 4 bytes"},
		"bytes with aliases":         {52, bytes52, strings.Replace(bytes52, "b", "bb", 1), "line 1: more than 52 bytes once aliases are written out"},
		"bytes of one part":          {52, bytes52, "x:\n  " + strings.Replace(bytes52, "\nb", "\n  b", 1), "line 1: more than 52 bytes"},
		"bytes of the first item":    {52, "a", "-\n  - &a xxxxxxxxxx\n  - [*a,*a,*a,*a,*a]\n- y", "line 2: more than 52 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := document.Bounds{Bytes: c.bytes, Memory: 1 << 30}
			file, faults := document.Read([]byte(c.at), b)
			assert.Empty(t, faults)
			assert.NotEmpty(t, file.Documents)
			file, faults = document.Read([]byte(c.over), b)
			assert.ErrorContains(t, faults, c.want)
			assert.Empty(t, file.Documents)
		})
	}
}

// deepList has each level on a line of its own.
func deepList(n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.Repeat(" ", i) + "-\n")
	}
	return s.String()
}

// TestRead_NoText: the first byte is checked too.
func TestRead_NoText(t *testing.T) {
	for text, want := range map[string]string{"\x00a": "line 1: a NUL byte: not text", "\xc3(": "line 1: byte 0xc3 is not UTF-8: not text"} {
		_, faults := document.Read([]byte(text), bounds)
		assert.EqualError(t, faults, want)
	}
}

// TestFaults_InOrder: by line, then as they were found; as many as may be, and that there
// are more.
func TestFaults_InOrder(t *testing.T) {
	assert.EqualError(t, document.Faults{{Line: 3, Reason: "c"}, {Line: 1, Reason: "b"}, {Line: 2, Reason: "d"}, {Line: 1, Reason: "a"}}.InOrder(),
		"line 1: b\nline 1: a\nline 2: d\nline 3: c")
	for _, text := range []string{"%s", "{%s}"} { // YAML, JSON
		for more := range 2 {
			fields := strings.TrimSuffix(strings.Repeat("\"a\": 1,\n", document.MaxFaults+1+more), ",\n")
			if text == "%s" {
				fields = strings.ReplaceAll(fields, ",", "")
			}
			file, faults := document.Read([]byte(fmt.Sprintf(text, fields)), bounds)
			require.Len(t, faults, document.MaxFaults+more)
			shown := faults.InOrder()
			require.Len(t, shown, document.MaxFaults+more)
			assert.Equal(t, more > 0, strings.HasPrefix(shown[len(shown)-1].Reason, fmt.Sprintf("and more, %d faults at least", document.MaxFaults+1)))
			assert.Len(t, file.Documents, 1, "duplicate fields are warnings for some readers, however many there are")
		}
	}
}

// TestDecode_ManyFaults: one fault more is stored than is listed, and up to a thousand missing values.
func TestDecode_ManyFaults(t *testing.T) {
	file, faults := document.Read([]byte("items: ["+strings.Repeat("1,", 1000)+"1]"), bounds)
	require.Empty(t, faults)
	var r record
	missing, faults := file.Decode(file.Documents[0], &r)
	assert.Len(t, missing, 1000)
	assert.Len(t, faults, document.MaxFaults+1)
}

// TestDecode_Memory: counted are the sizes of the types of Go and of the texts; what fits
// exactly is decoded, and with a byte less nothing is.
func TestDecode_Memory(t *testing.T) {
	decode := func(text string, memory int64) *document.File {
		file, faults := document.Read([]byte(text), document.Bounds{Bytes: 1000, Memory: memory})
		require.Empty(t, faults)
		var r record
		_, faults = file.Decode(file.Documents[0], &r)
		require.Equal(t, file.Full(), len(faults) > 0)
		return file
	}
	one := int64(reflect.TypeFor[record]().Size())
	for text, want := range map[string]int64{
		"{}":              one,
		"pointer: null":   one,
		"pointer: {}":     2 * one,
		"text: some":      one + 4,
		"items: [{}, {}]": 3 * one,
		"map: {one: 123}": one + int64(reflect.TypeFor[string]().Size()+reflect.TypeFor[int]().Size()) + int64(len("one")+len("123")),
	} {
		file := decode(text, want)
		assert.Equal(t, want, file.Memory(), text)
		assert.False(t, file.Full(), text)
		assert.True(t, decode(text, want-1).Full(), text)
	}
}

// TestAppendJSON_LongTexts: a long text is written as package json writes it, wherever its
// characters begin.
func TestAppendJSON_LongTexts(t *testing.T) {
	for _, before := range []string{"", "x", "xx", "xxx"} {
		for _, character := range []string{"x", "\u00e9", "\u20ac", "\U0001f600", "<"} {
			text := before + strings.Repeat(character, 5000)
			file, faults := document.Read([]byte(`"`+text+`"`), bounds)
			require.Empty(t, faults)
			want, err := json.Marshal(text)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(file.Documents[0].AppendJSON(nil)))
		}
	}
}
