package respond_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// pieces records the largest text that was written at once.
type pieces struct {
	bytes.Buffer
	largest int
}

func (p *pieces) Write(text []byte) (int, error) {
	p.largest = max(p.largest, len(text))
	return p.Buffer.Write(text)
}

// TestList: the text equals the encoding of the whole list, and at most one item is in memory.
func TestList(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		whole := v1.PodList{Items: []v1.Pod{}}
		whole.ResourceVersion, whole.Kind = "7", "PodList"
		head := whole
		for range n {
			pod := v1.Pod{}
			pod.Name = strings.Repeat("x", 10_000)
			whole.Items = append(whole.Items, pod)
		}
		want, err := json.Marshal(whole)
		require.NoError(t, err)
		var out pieces
		require.NoError(t, respond.WriteList(&out, head, whole.Items))
		assert.Equal(t, string(want), out.String())
		assert.Less(t, out.largest, 11_000)
	}
	var out pieces
	require.Error(t, respond.WriteList(&out, v1.PodList{Items: []v1.Pod{}}, []any{func() {}}))
	assert.Empty(t, out.String())
}

// TestPodListHandler_Bounded: the number of lists that are sent at the same time is bounded, because each holds copies
// of all pods.
func TestPodListHandler_Bounded(t *testing.T) {
	inside, end := make(chan struct{}), make(chan struct{})
	h := respond.PodListHandler(func() []*v1.Pod {
		inside <- struct{}{}
		<-end
		return []*v1.Pod{{}}
	})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() { h(httptest.NewRecorder(), nil) })
		<-inside
	}
	refused := httptest.NewRecorder()
	h(refused, nil)
	assert.Equal(t, http.StatusServiceUnavailable, refused.Code)
	close(end)
	clients.Wait()
	go func() { <-inside }()
	answered := httptest.NewRecorder()
	h(answered, nil)
	assert.Equal(t, http.StatusOK, answered.Code)
	assert.Contains(t, answered.Body.String(), `"items":[{`)
}
