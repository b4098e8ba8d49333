package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Decode reads all pods of a manifest: YAML or JSON, any number of documents,
// each a Pod, a PodList or a List of pods. They get the defaults of [Default]
// and are checked by [Validate]. One fault rejects everything, and the error is
// [Faults] with all of them, or ErrEmpty if there is no document. It keeps
// nothing and may be called from anywhere, also by those who hand the pods over
// to somebody else than this source.
func Decode(data []byte) ([]*v1.Pod, error) {
	docs, err := decode(data)
	if err != nil {
		return nil, err
	}
	pods := make([]*v1.Pod, 0, len(docs))
	var faults Faults
	for _, d := range docs {
		Default(d.pod)
		faults = append(faults, d.located(validate(d.pod))...)
		pods = append(pods, d.pod)
	}
	if len(faults) > 0 {
		return nil, faults.inOrder()
	}
	return pods, nil
}

// document is one pod of a file as it was written.
type document struct {
	pod *v1.Pod
	raw *value
}

// decode reads the pods of a file as they are written.
func decode(data []byte) ([]document, error) {
	values, faults := readDocuments(data)
	if len(faults) > 0 {
		return nil, faults.inOrder()
	}
	if len(values) == 0 {
		return nil, ErrEmpty
	}
	var docs []document
	for _, v := range values {
		found, more := podsOf(v)
		docs, faults = append(docs, found...), append(faults, more...)
	}
	if len(faults) > 0 {
		return nil, faults.inOrder()
	}
	return docs, nil
}

// typeMeta is what tells one kind of document from another.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// listMeta is a list without its items.
type listMeta struct {
	typeMeta `json:",inline"`
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []any           `json:"items"`
}

// podsOf reads the pods of one document.
func podsOf(doc *value) ([]document, Faults) {
	if doc.kind != object {
		return nil, Faults{{Line: doc.line, Reason: doc.describe() + ": expected a Pod, a PodList or a List of pods"}}
	}
	kind := doc.get("kind")
	if kind == nil || kind.text != "List" && kind.text != "PodList" {
		d, faults := podOf(doc, true)
		return []document{d}, faults
	}
	s := newSchema(doc)
	s.checkVersion()
	s.check(doc, reflect.TypeFor[listMeta](), nil)
	items, docs := doc.get("items"), []document(nil)
	if items == nil || items.kind != list {
		return nil, s.faults
	}
	for i, item := range items.items {
		if item.kind != object {
			s.expected((*fieldPath)(nil).field("items").at(i), item, "a Pod")
			continue
		}
		d, faults := podOf(item, kind.text == "List")
		docs = append(docs, d)
		s.faults = append(s.faults, faults...)
	}
	return docs, s.faults
}

// checkVersion looks at apiVersion: there has only ever been one for pods.
func (s *schema) checkVersion() {
	at := (*fieldPath)(nil).field("apiVersion")
	switch v := s.doc.get("apiVersion"); {
	case v == nil || v.kind == null:
		s.fault(at, "missing: expected v1")
	case v.kind != text || v.text != "v1":
		s.fault(at, "%s: expected v1", v.show())
	}
}

func (s *schema) checkKind() {
	at := (*fieldPath)(nil).field("kind")
	switch v := s.doc.get("kind"); {
	case v == nil || v.kind == null:
		s.fault(at, "missing: expected Pod, PodList or List")
	case v.kind != text || v.text != "Pod":
		s.fault(at, "%s: expected Pod, PodList or List", v.show())
	}
}

// podOf reads one pod. Only in a PodList may it leave out what it is.
func podOf(doc *value, typed bool) (document, Faults) {
	s := newSchema(doc)
	if typed || doc.get("apiVersion") != nil {
		s.checkVersion()
	}
	if typed || doc.get("kind") != nil {
		s.checkKind()
	}
	if len(s.faults) > 0 {
		return document{}, s.faults // The fields of something else say nothing.
	}
	s.check(doc, reflect.TypeFor[v1.Pod](), nil)
	if len(s.faults) > 0 {
		return document{}, s.named()
	}
	pod := &v1.Pod{}
	if err := json.Unmarshal(doc.appendJSON(nil), pod); err != nil {
		s.fault(nil, "%v", err) // The check above leaves nothing for this, as far as the fuzzer knows.
		return document{}, s.named()
	}
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return document{pod, doc}, nil
}

// named stamps the name of the pod on its faults, if it has one that is text.
func (s *schema) named() Faults {
	if name := s.doc.get("metadata").get("name"); name != nil && name.kind == text {
		for i := range s.faults {
			s.faults[i].Pod = shorten(name.text)
		}
	}
	return s.faults
}

// located turns what a check of the pod found into faults with lines.
func (d document) located(found []finding) Faults {
	faults := make(Faults, 0, len(found))
	for _, f := range found {
		faults = append(faults, Fault{
			Line: f.at.line(d.raw), Pod: shorten(d.pod.Name), Field: f.at.String(), Reason: f.reason,
		})
	}
	return faults
}

// finding is something wrong with a pod, before it is known where that is in
// the file.
type finding struct {
	at     *fieldPath
	reason string
}

// findings gathers what is wrong.
type findings []finding

func (f *findings) add(at *fieldPath, format string, args ...any) {
	*f = append(*f, finding{at, fmt.Sprintf(format, args...)})
}
