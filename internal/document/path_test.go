package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/document"
)

// TestValue_Path: the path of a field leads to the line of the value. If the document lacks the value, it leads to the
// nearest value around it. A key may contain any characters.
func TestValue_Path(t *testing.T) {
	file, faults := document.Read([]byte(`a:
  b:
  - c: 1
  -
    c: 2
    d: {}
  m:
    x.y/z: 1
    "1": 1
    "k]": 1
    "k].c": 1
    "": 1
`), bounds)
	require.Empty(t, faults)
	for _, c := range []struct {
		field, shown string
		line         int
	}{
		{"", "", 1},
		{"a", "a", 1},
		{"a.b", "a.b", 2},
		{"a.b[0]", "a.b[0]", 3},
		{"a.b[0].c", "a.b[0].c", 3},
		{"a.b[1].c", "a.b[1].c", 5},
		{"a.b[1].d.e", "a.b[1].d.e", 6},
		{"a.b[2].c", "a.b[2].c", 2},
		{"a.n[0].c", "a.n[0].c", 1},
		{"a.n.o", "a.n.o", 1},
		{"z", "z", 1},
		{"a.m[x.y/z]", "a.m[x.y/z]", 8},
		{"a.m[1]", "a.m[1]", 9},
		{"a.m[k]]", `a.m["k]"]`, 10},
		{"a.m[k].c]", `a.m["k].c"]`, 11},
		{"a.m[]", `a.m[""]`, 12},
		{"a.m[lacking]", "a.m[lacking]", 7},
		{"a.n[x.y/z]", "a.n[x.y/z]", 1},
		{"a.n[k].c]", `a.n["k].c"]`, 1},
		{"a.b[-1]", "a.b[-1]", 2},
		{"a\n1", `"a\n1"`, 1},
		{"a.b\x1b", `a."b\x1b"`, 1},
		{"a." + strings.Repeat("k", 1000), "a." + strings.Repeat("k", 64) + "...", 1},
		{strings.Repeat("\n", 1000) + ".b", `"` + strings.Repeat(`\n`, 64) + `"....b`, 1},
	} {
		p := file.Documents[0].Path(c.field)
		assert.Equal(t, c.shown, p.String())
		assert.Equal(t, c.line, p.Line(file.Documents[0]), c.field)
	}
}

// TestPath_Within: a value is within itself and all that is around it, and within the
// document.
func TestPath_Within(t *testing.T) {
	var root *document.Path
	item := root.Field("a").At(1)
	for _, around := range []*document.Path{nil, root.Field("a"), root.Field("a").At(1)} {
		assert.True(t, item.Within(around), around.String())
	}
	for _, other := range []*document.Path{root.Field("b"), root.Field("a").At(0), root.Field("a").At(1).Field("c"), root.Entry("a"), root.Field("x").Field("a").At(1)} {
		assert.False(t, item.Within(other), other.String())
	}
	assert.True(t, root.Within(nil))
	assert.False(t, root.Within(root.Field("a")))
}
