package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// TestForEachPod_Bounds: an endless list of a server that is no agent is an error.
func TestForEachPod_Bounds(t *testing.T) {
	read := func(pods int, all int64) (n int, err error) {
		list := `{"items":[` + strings.TrimSuffix(strings.Repeat("{},", pods), ",") + "]}"
		body := &boundedReader{reader: strings.NewReader(list), itemBytesLeft: clientLimit, totalBytesLeft: all, onRead: func() {}}
		err = decodePods(body, func(*v1.Pod) { n++ })
		return n, err
	}
	n, err := read(maxListedPods, listLimit)
	require.NoError(t, err)
	assert.Equal(t, maxListedPods, n)
	n, err = read(maxListedPods+1, listLimit)
	require.ErrorIs(t, err, errTooMany)
	assert.Equal(t, maxListedPods, n)
	_, err = read(1000, 100)
	require.ErrorIs(t, err, errTooMany)
}
