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

// lostFieldSerializer is a serializer that names, in an annotation of each pod, the fields that the
// types here have dropped: see podfields.Annotation. A server may be newer than this program.
type lostFieldSerializer struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (n lostFieldSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	infos := n.NegotiatedSerializer.SupportedMediaTypes()
	out := make([]runtime.SerializerInfo, len(infos))
	for i, info := range infos {
		info.Serializer = lostFieldDecoder{info.Serializer}
		out[i] = info
	}
	return out
}

type lostFieldDecoder struct{ runtime.Serializer }

// Decode implements runtime.Decoder.
func (d lostFieldDecoder) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, found, err := d.Serializer.Decode(data, kind, into)
	if err == nil {
		annotateLostFields(object, data)
	}
	return object, found, err
}

// magic begins each object in protobuf.
var magic = []byte("k8s\x00")

// annotateLostFields writes the dropped fields of a pod, or of each pod of a list, into its annotation.
func annotateLostFields(object runtime.Object, data []byte) {
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
		lost = lostFieldsOfJSON(data)
	}
	for i, fields := range lost {
		switch {
		case len(fields) == 0:
		case single:
			setAnnotation(pod, fields)
		case i < len(list.Items):
			setAnnotation(&list.Items[i], fields)
		}
	}
}

// lostFieldsOfJSON returns the dropped fields of a pod in JSON, or of each pod of a list, by its place
// in the list. A server without protobuf answers in JSON.
func lostFieldsOfJSON(data []byte) map[int][]podfields.Found {
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

func setAnnotation(pod *v1.Pod, fields []podfields.Found) {
	var names []string
	for _, f := range fields[:min(len(fields), mostNamed)] {
		names = append(names, f.Path)
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podfields.Annotation] = strings.Join(names, ",")
}
