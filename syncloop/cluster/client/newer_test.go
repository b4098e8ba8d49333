package client_test

import (
	"encoding/binary"
	"net/http"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

const dropped = "podkeel.dev/newer-fields"

// inProtobuf is an object as an API server sends it.
func inProtobuf(t *testing.T, kind string, raw []byte) []byte {
	text, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}).Marshal()
	require.NoError(t, err)
	return append([]byte("k8s\x00"), text...)
}

// newerPod is a pod with spec.evictionResponders (44) and an unknown field (99), in protobuf.
func newerPod(t *testing.T) []byte {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
	pod.Name = "web"
	text, err := pod.Marshal()
	require.NoError(t, err)
	more := append(binary.AppendUvarint(nil, 44<<3|2), 3, 1<<3|2, 1, 'r') // {name: r}
	more = append(binary.AppendUvarint(more, 99<<3|2), 1, 'x')
	return append(append(text, 2<<3|2, byte(len(more))), more...)
}

// TestFeed_FieldsOfANewerServer: a pod says which fields of its spec the types here have dropped, so
// that the node can refuse it, whether it comes by a list, by a watch or alone.
func TestFeed_FieldsOfANewerServer(t *testing.T) {
	plain := &v1.Pod{}
	plain.Name = "plain"
	first, err := plain.Marshal()
	require.NoError(t, err)
	version, err := (&metav1.ListMeta{ResourceVersion: "5"}).Marshal()
	require.NoError(t, err)
	list := append([]byte{1<<3 | 2, byte(len(version))}, version...)
	for _, item := range [][]byte{first, newerPod(t)} {
		list = append(binary.AppendUvarint(append(list, 2<<3|2), uint64(len(item))), item...)
	}
	event, err := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: inProtobuf(t, "Pod", newerPod(t))}}).Marshal()
	require.NoError(t, err)

	want := "spec.evictionResponders,spec.#99"
	if _, has := reflect.TypeFor[v1.PodSpec]().FieldByName("EvictionResponders"); has { // With k8s.io/api 0.37.
		want = "spec.#99"
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		switch {
		case r.URL.Query().Get("watch") != "":
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
			_, _ = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...))
		case r.URL.Path == "/api/v1/pods":
			_, _ = w.Write(inProtobuf(t, "PodList", list))
		default:
			_, _ = w.Write(inProtobuf(t, "Pod", newerPod(t)))
		}
	})
	got, err := s.PodFeed().List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, got.Items, 2)
	assert.Empty(t, got.Items[0].Annotations)
	assert.Equal(t, want, got.Items[1].Annotations[dropped])
	pod, err := s.Pods().Get(t.Context(), "default", "web")
	require.NoError(t, err)
	assert.Equal(t, want, pod.Annotations[dropped])
	stream, err := s.PodFeed().Watch(t.Context(), apiserver.WatchOptions{})
	require.NoError(t, err)
	defer stream.Close()
	e, err := stream.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "web", e.Object.Name)
	assert.Equal(t, want, e.Object.Annotations[dropped])
}

// TestFeed_FieldsOfANewerServer_JSON: the same, from a server that has no protobuf.
func TestFeed_FieldsOfANewerServer_JSON(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[
			{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","volumeMounts":[{"name":"v","bindMountOptions":["noexec"]}]}]}},{"metadata":{"name":"b"}}]}`))
	})
	got, err := s.PodFeed().List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, got.Items, 2)
	assert.Equal(t, "spec.containers[0].volumeMounts[0].bindMountOptions", got.Items[0].Annotations[dropped])
	assert.Empty(t, got.Items[1].Annotations)
}
