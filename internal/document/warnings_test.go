package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/document"
)

// TestWarnings_F7: an unknown field and a duplicate one are warnings for a reader that is not strict.
// It has the last value of a duplicate field, in YAML and in JSON, and what a misspelt field means is
// not taken for a value that is there. However many there are, they hide no other fault.
func TestWarnings_F7(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": "text: a\ntext: b\nTEXT: c\nother: {deep: [x]}\nflag: 5\nmap: {a: 1, a: 2}\n",
		"JSON": `{"text": "a",` + "\n" + `"text": "b",` + "\n" + `"TEXT": "c",` + "\n" + `"other": {"deep": ["x"]},` + "\n" + `"flag": 5,` + "\n" + `"map": {"a": 1, "a": 2}}`,
	} {
		file, found := document.Read([]byte(text), bounds)
		require.Len(t, file.Documents, 1, name)
		file.Lenient = true
		var r record
		missing, more := file.Decode(file.Documents[0], &r)
		warnings, faults := append(found, more...).Split()
		assert.Equal(t, "b", r.Text, name)
		assert.Equal(t, map[string]int{"a": 2}, r.Map, name)
		assert.Equal(t, "line 2: duplicate field \"text\" (first on line 1)\n"+
			"line 3: TEXT: unknown field (did you mean \"text\"?)\nline 4: other: unknown field\n"+
			"line 6: duplicate field \"a\" (first on line 6)", warnings.InOrder().Error(), name)
		assert.EqualError(t, faults, "line 5: flag: 5 is a number: expected true or false", name)
		require.Len(t, missing, 1, name)
		assert.Equal(t, "flag", missing[0].String(), name)

		file.Lenient = false
		missing, _ = file.Decode(file.Documents[0], &r)
		assert.Len(t, missing, 2, "a strict reader tells of the misspelt field alone: %s", name)
	}
	many := repeatNumbered("unknown%[1]d: 1\n", 1000) + strings.Repeat("text: x\n", 1000) + "flag: 5\n"
	file, found := document.Read([]byte(many), bounds)
	file.Lenient = true
	_, more := file.Decode(file.Documents[0], new(record))
	warnings, faults := append(found, more...).Split()
	assert.Len(t, warnings, 2*(document.MaxFaults+1))
	assert.EqualError(t, faults, "line 2001: flag: 5 is a number: expected true or false")
}

// TestJSON_F4: a text of any form becomes JSON of a bounded size, or a fault that says whether a bound
// was the reason.
func TestJSON_F4(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		laughs += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	for text, want := range map[string]string{
		"":                           "null",
		"a: &x {b: 1}\nc: *x":        `{"a":{"b":1},"c":{"b":1}}`,
		"a: 1\na: yes":               `{"a":true}`,
		`{"a": "\u00e9\/"}`:          `{"a":"é/"}`,
		"--- 1\n--- 2":               "wrong: line 2: another document: expected one",
		"a: [":                       "wrong: line 1: not YAML: did not find expected node content",
		laughs:                       "bound: line 6: more than 200000 values once aliases are written out",
		strings.Repeat("a", 1<<20+1): "bound: larger than 1 MiB",
		"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200): "bound: line 1: nested deeper than 100 levels",
		strings.Repeat("[", 200) + strings.Repeat("]", 200):         "bound: line 1: not JSON: nested deeper than 100 levels",
	} {
		converted, _, faults := document.JSON([]byte(text), document.Bounds{Bytes: 1 << 20, Memory: 1 << 20})
		got := string(converted)
		if len(faults) > 0 {
			got = map[document.FaultKind]string{document.Wrong: "wrong: ", document.BeyondBound: "bound: "}[faults[0].Kind] + faults[0].String()
		}
		assert.Equal(t, want, got, "%.40s", text)
	}
}
