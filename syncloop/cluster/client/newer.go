package client

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/internal/podfields"
)

// lostFieldSerializer adds an annotation to each pod with the fields that the Go types have dropped: see
// podfields.Annotation. The server may be newer than this program.
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
		annotateDroppedFields(object, data)
	}
	return object, found, err
}

// annotateDroppedFields annotates a pod, or each pod of a list, with the names of the fields that the decoder
// has dropped because its types do not have them. Other objects and errors are ignored.
func annotateDroppedFields(object runtime.Object, data []byte) {
	switch object := object.(type) {
	case *v1.Pod:
		lost, _ := podfields.FindInPod(data)
		setDroppedFieldsAnnotation(object, lost)
	case *v1.PodList:
		lost, _ := podfields.FindInPods(data)
		for i, fields := range lost {
			if i < len(object.Items) {
				setDroppedFieldsAnnotation(&object.Items[i], fields)
			}
		}
	}
}

// maxAnnotatedFields bounds the fields that an annotation lists.
const maxAnnotatedFields = 10

// setDroppedFieldsAnnotation sets an annotation with the first maxAnnotatedFields dropped fields of a pod.
// Without dropped fields it does nothing.
func setDroppedFieldsAnnotation(pod *v1.Pod, fields []podfields.Found) {
	if len(fields) == 0 {
		return
	}
	var names []string
	for _, f := range fields[:min(len(fields), maxAnnotatedFields)] {
		names = append(names, f.Path)
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podfields.Annotation] = strings.Join(names, ",")
}
