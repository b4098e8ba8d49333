package localapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestJSONPatch: the operations of RFC 6902, and documents that do not fit.
func TestJSONPatch(t *testing.T) {
	for _, step := range [][3]string{
		{`{"a":1}`, `[{"op":"add","path":"/b","value":[1]},{"op":"add","path":"/b/-","value":2},{"op":"add","path":"/b/0","value":0}]`, `{"a":1,"b":[0,1,2]}`},
		{`{"a":[1,2,3]}`, `[{"op":"remove","path":"/a/1"}]`, `{"a":[1,3]}`},
		{`{"a":[1,{"b":2}]}`, `[{"op":"replace","path":"/a/1/b","value":null}]`, `{"a":[1,{"b":null}]}`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a/b","path":"/c"},{"op":"copy","from":"/c","path":"/d"}]`, `{"a":{},"c":1,"d":1}`},
		{`{"a/b":{"~":1}}`, `[{"op":"test","path":"/a~1b/~0","value":1},{"op":"remove","path":"/a~1b"}]`, `{}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":7}]`, `7`},
		{`{"a":9223372036854775807,"b":0}`, `[{"op":"test","path":"/a","value":9223372036854775807},{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/c","value":9007199254740993}]`, `{"a":9223372036854775807,"b":9223372036854775807,"c":9007199254740993}`},
		{`{"a":[{"b":1}]}`, `[{"op":"copy","from":"/a/0","path":"/a/-"},{"op":"replace","path":"/a/1/b","value":2}]`, `{"a":[{"b":1},{"b":2}]}`},
	} {
		got, err := jsonPatch([]byte(step[0]), []byte(step[1]))
		require.NoError(t, err, step[1])
		assert.Equal(t, step[2], string(got), step[1])
	}
	for _, patch := range []string{
		`[{"op":"test","path":"/a/0","value":2}]`, `[{"op":"remove","path":"/a/1"}]`, `[{"op":"remove","path":"/a/-"}]`, `[{"op":"add","path":"/a/2","value":1}]`,
		`[{"op":"replace","path":"/b","value":1}]`, `[{"op":"add","path":"/b/c","value":1}]`, `[{"op":"add","path":"/c"}]`, `[{"op":"none","path":"/a"}]`,
		`[{"op":"add","path":"/a/0/x","value":1}]`, `[{"op":"copy","from":"/none","path":"/c"}]`, `[{"op":"move","from":"/a/9","path":"/c"}]`,
	} {
		_, err := jsonPatch([]byte(`{"a":[1]}`), []byte(patch))
		assert.ErrorIs(t, err, errPatch, patch)
	}
	_, err := jsonPatch([]byte(`{}`), []byte(`{}`))
	require.Error(t, err)
}

// TestJSONPatch_Bounds: copies of copies cannot fill the memory.
func TestJSONPatch_Bounds(t *testing.T) {
	double := strings.Repeat(`{"op":"copy","from":"","path":"/a/-"},`, 100)
	_, err := jsonPatch([]byte(`{"a":["0123456789"]}`), []byte("["+strings.TrimSuffix(double, ",")+"]"))
	require.ErrorContains(t, err, "it copies more than 1048576 bytes")
	_, err = jsonPatch([]byte(`{}`), []byte(`[{"op":"add","path":"`+strings.Repeat("/", 101)+`","value":1}]`))
	require.ErrorIs(t, err, errNoPath, "copies at the end of long paths would nest what no decoder reads")
	many := strings.Repeat(`{"op":"test","path":"/a","value":1},`, mostOperations+1)
	_, err = jsonPatch([]byte(`{"a":1}`), []byte("["+strings.TrimSuffix(many, ",")+"]"))
	require.ErrorContains(t, err, "more than 10000 operations")
}

// TestMergePatch: null removes, an object merges, anything else replaces (RFC 7386).
func TestMergePatch(t *testing.T) {
	for _, step := range [][3]string{
		{`{"a":1,"b":{"c":1,"d":2}}`, `{"a":null,"b":{"c":null,"e":[1]}}`, `{"b":{"d":2,"e":[1]}}`},
		{`{"a":[1]}`, `{"a":{"b":null,"c":1}}`, `{"a":{"c":1}}`},
		{`{}`, `[1]`, `[1]`},
		{`{"a":9223372036854775807}`, `{"b":9007199254740993}`, `{"a":9223372036854775807,"b":9007199254740993}`},
	} {
		got, err := mergePatch([]byte(step[0]), []byte(step[1]))
		require.NoError(t, err)
		assert.Equal(t, step[2], string(got))
	}
}
