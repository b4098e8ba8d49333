package client

import (
	"bytes"
	"encoding/json"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/internal/podfields"
)

// noticing is a serializer whose pods say which of their fields the types here have dropped, see
// podfields.Annotation. A server may be newer than this program.
type noticing struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (n noticing) SupportedMediaTypes() []runtime.SerializerInfo {
	infos := n.NegotiatedSerializer.SupportedMediaTypes()
	out := make([]runtime.SerializerInfo, len(infos))
	for i, info := range infos {
		info.Serializer = noticingDecoder{info.Serializer}
		out[i] = info
	}
	return out
}

type noticingDecoder struct{ runtime.Serializer }

// Decode implements runtime.Decoder.
func (d noticingDecoder) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, found, err := d.Serializer.Decode(data, kind, into)
	if err == nil {
		notice(object, data)
	}
	return object, found, err
}

// magic begins each object in protobuf.
var magic = []byte("k8s\x00")

// notice writes the fields that a pod, or those of a list, have lost into their annotations.
func notice(object runtime.Object, data []byte) {
	pod, single := object.(*v1.Pod)
	list, many := object.(*v1.PodList)
	if !single && !many {
		return
	}
	lost := map[int][]podfields.Found{}
	var envelope runtime.Unknown
	raw, binary := bytes.CutPrefix(data, magic)
	switch {
	case binary && envelope.Unmarshal(raw) != nil:
	case binary && single:
		lost[0] = podfields.FindWire(envelope.Raw)
	case binary:
		lost = podfields.FindWireItems(envelope.Raw)
	default:
		lost = lostOfJSON(data)
	}
	for i, fields := range lost {
		switch {
		case len(fields) == 0:
		case single:
			annotate(pod, fields)
		case i < len(list.Items):
			annotate(&list.Items[i], fields)
		}
	}
}

// lostOfJSON are the fields of a pod, or of those of a list, in JSON. A server answers so that has
// no protobuf.
func lostOfJSON(data []byte) map[int][]podfields.Found {
	var tree struct {
		Spec  any   `json:"spec"`
		Items []any `json:"items"`
	}
	lost := map[int][]podfields.Found{}
	if json.Unmarshal(data, &tree) != nil {
		return lost
	}
	if tree.Spec != nil {
		lost[0] = podfields.Find(map[string]any{"spec": tree.Spec})
	}
	for i, item := range tree.Items {
		lost[i] = podfields.Find(item)
	}
	return lost
}

// mostNamed bounds the fields that an annotation names.
const mostNamed = 10

func annotate(pod *v1.Pod, fields []podfields.Found) {
	var names []string
	for _, f := range fields[:min(len(fields), mostNamed)] {
		names = append(names, f.Path)
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podfields.Annotation] = strings.Join(names, ",")
}
