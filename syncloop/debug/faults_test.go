package debug_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/debug"
)

// TestHandler_Faults: the handler shows the faults of manifests, and a node with such faults is
// healthy.
func TestHandler_Faults(t *testing.T) {
	var sick error
	var faults []source.Faults
	config := debug.Config{
		Pods: func() []*v1.Pod { return nil }, Health: func() error { return sick }, Ready: func() error { return nil },
		Explain: func(string, string) (fmt.Stringer, bool) { return nil, false },
	}
	h, err := debug.New(config)
	require.NoError(t, err)
	assert.Equal(t, 404, get(t, h, "GET", "/faults").Code)
	assert.Equal(t, "ok\n", get(t, h, "GET", "/healthz?verbose").Body.String())

	config.Faults = func() []source.Faults { return faults }
	h, err = debug.New(config)
	require.NoError(t, err)
	assert.Equal(t, "ok\n", get(t, h, "GET", "/healthz?verbose").Body.String())
	assert.Equal(t, "[]", get(t, h, "GET", "/faults").Body.String())
	faults = []source.Faults{{Source: "file", Count: 1, First: []source.Fault{{Path: "/m/\x1b.yaml", Reason: "not YAML", Effect: "it stays", Since: time.Unix(0, 0).UTC()}}}}
	says := `1 fault in the manifests: /m/\x1b.yaml: not YAML; it stays (since 1970-01-01T00:00:00Z)` + "\n"
	assert.Equal(t, "ok\n"+says, get(t, h, "GET", "/healthz?verbose").Body.String())
	assert.Equal(t, 200, get(t, h, "GET", "/healthz?verbose").Code)
	assert.Equal(t, "ok", get(t, h, "GET", "/healthz").Body.String())
	assert.Equal(t, `[{"source":"file","count":1,"faults":[{"path":"/m/\u001b.yaml","reason":"not YAML","effect":"it stays","since":"1970-01-01T00:00:00Z"}]}]`,
		get(t, h, "GET", "/faults").Body.String())
	answer := get(t, h, "GET", "/explain/default/web")
	assert.Equal(t, 404, answer.Code)
	assert.Equal(t, `there is no pod "web" in namespace "default" on this node; /pods lists the pods`+"\n"+says, answer.Body.String())

	sick = errors.New("pleg: no list for 4m0s")
	answer = get(t, h, "GET", "/healthz?verbose")
	assert.Equal(t, "503 no list for 4m0s\n", fmt.Sprint(answer.Code, " ", answer.Body.String()))
}
