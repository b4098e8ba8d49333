package manifest

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// MaxFileSize is the most a manifest file may hold, in bytes: 10 MiB, as in the
// kubelet. Aliases count as what they stand for.
const MaxFileSize = 10 << 20

// maxMemory is what the pods of one file may take.
const maxMemory = 32 << 20

// Decode reads all pods of a manifest: YAML or JSON, any number of documents,
// each a Pod, a PodList or a List of pods. They get the defaults of
// [validation.Default] and are checked by [validation.Validate]. One fault rejects everything, and the error is
// [Faults] with all of them, or ErrEmpty if there is no document. Unknown and duplicate fields are
// faults, as with [Config.Strict]. It keeps
// nothing and may be called from anywhere, also without a Source. The size and number
// of files are bounded by a Source only.
func Decode(data []byte) ([]*v1.Pod, error) {
	docs, _, faults, _, err := decode(data, true)
	if err != nil {
		return nil, err
	}
	pods := make([]*v1.Pod, 0, len(docs))
	for _, d := range docs {
		if len(faults) >= maxListed {
			break // Nobody reads more.
		}
		validation.Default(d.pod)
		faults = faults.and(d.located(d.validate(validation.ValidatePartial)))
		pods = append(pods, d.pod)
	}
	if len(faults) > 0 {
		return nil, faults.inOrder()
	}
	return pods, nil
}

// written is one pod of a file as it was written.
type written struct {
	pod *v1.Pod
	raw *document.Value
	// missing are the values that the pod lacks since they are faults themselves.
	missing []*document.Path
}

// decode reads the pods of a file as they are written, and says what they take in
// memory. With faults there are the pods that can be checked further in spite of
// them; the error says that there is none. ignored are the unknown and the duplicate
// fields, which are faults for a strict reader.
func decode(data []byte, strict bool) (docs []written, memory int64, faults, ignored Faults, err error) {
	file, found := document.Read(data, document.Bounds{Bytes: MaxFileSize, Memory: maxMemory})
	file.Lenient = !strict
	g := gathered{strict: strict}
	g.add(found, "")
	if len(file.Documents) == 0 {
		if len(g.faults) > 0 {
			return nil, 0, nil, nil, g.faults.inOrder()
		}
		return nil, 0, nil, nil, ErrEmpty
	}
	for _, v := range file.Documents {
		if g.isFull() || file.Full() {
			break // Nobody reads more.
		}
		docs = append(docs, g.podsOf(file, v)...)
	}
	return docs, file.Memory(), g.faults, g.ignored, nil
}

// gathered are the faults of a file so far.
type gathered struct {
	strict          bool
	faults, ignored Faults // maxListed of each at most
}

// add takes faults of a document, or of a pod with a name.
func (g *gathered) add(found document.Faults, pod string) {
	ignored, wrong := faultsOf(found, pod, g.strict).splitIgnored()
	g.faults, g.ignored = g.faults.and(wrong), g.ignored.and(ignored)
}

// isFull reports whether the list has room for no more faults. Ignored fields do not count: the pods
// after them run.
func (g *gathered) isFull() bool { return len(g.faults) >= maxListed }

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
func (g *gathered) podsOf(file *document.File, doc *document.Value) []written {
	if doc.Kind != document.Object {
		g.add(document.Faults{{Line: doc.Line, Reason: doc.Describe() + ": expected a Pod, a PodList or a List of pods"}}, "")
		return nil
	}
	kind := doc.Get("kind")
	if kind == nil || kind.Text != "List" && kind.Text != "PodList" {
		return g.podOf(file, doc, true)
	}
	g.add(append(checkVersion(doc), file.Check(doc, reflect.TypeFor[listMeta]())...), "")
	items := doc.Get("items")
	if items == nil || items.Kind != document.List {
		return nil
	}
	var docs []written
	for i, item := range items.Items {
		if g.isFull() || file.Full() {
			break // Nobody reads more.
		}
		if item.Kind != document.Object {
			at := (*document.Path)(nil).Field("items").At(i)
			g.add(document.Faults{{Line: at.Line(doc), Field: at.String(), Reason: item.Describe() + ": expected a Pod"}}, "")
			continue
		}
		docs = append(docs, g.podOf(file, item, kind.Text == "List")...)
	}
	return docs
}

// checkVersion looks at apiVersion: there has only ever been one for pods.
func checkVersion(doc *document.Value) document.Faults {
	return checkWord(doc, "apiVersion", "v1", "v1")
}

// checkKind looks at the kind of what is no list.
func checkKind(doc *document.Value) document.Faults {
	expected := "Pod, PodList or List"
	if doc.Get("spec").Get("template") != nil {
		expected += "; no controllers run here, so write a Pod with the spec of its spec.template"
	}
	return checkWord(doc, "kind", "Pod", expected)
}

// checkWord wants one word in a field.
func checkWord(doc *document.Value, field, word, expected string) document.Faults {
	at := (*document.Path)(nil).Field(field)
	reason := "missing"
	switch v := doc.Get(field); {
	case v == nil || v.Kind == document.Null:
	case v.Kind != document.Text || v.Text != word:
		reason = v.Show()
	default:
		return nil
	}
	return document.Faults{{Line: at.Line(doc), Field: at.String(), Reason: reason + ": expected " + expected}}
}

// podOf reads one pod. Only in a PodList may it leave out what it is.
func (g *gathered) podOf(file *document.File, doc *document.Value, typed bool) []written {
	var faults document.Faults
	if typed || doc.Get("apiVersion") != nil {
		faults = append(faults, checkVersion(doc)...)
	}
	if typed || doc.Get("kind") != nil {
		faults = append(faults, checkKind(doc)...)
	}
	if len(faults) > 0 {
		g.add(faults, "")
		return nil // It is no pod, so its fields do not matter.
	}
	pod := &v1.Pod{}
	missing, faults := file.Decode(doc, pod)
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	g.add(faults, nameOf(doc))
	return []written{{pod, doc, missing}}
}

// nameOf is the name of a pod as it is written, if that is text.
func nameOf(doc *document.Value) string {
	if name := doc.Get("metadata").Get("name"); name != nil && name.Kind == document.Text {
		return plain.Shorten(name.Text)
	}
	return ""
}

// checkPod is validation.ValidatePartial for a new pod, and ValidateAcceptedPartial for one that
// an earlier process has accepted.
type checkPod func(pod *v1.Pod, unread []string) field.ErrorList

// validate checks the pod, as far as it could be read.
func (d written) validate(check checkPod) field.ErrorList {
	unread := make([]string, 0, len(d.missing))
	for _, m := range d.missing {
		unread = append(unread, m.String())
	}
	errs := check(d.pod, unread)
	if d.pod.DeletionTimestamp != nil {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "deletionTimestamp"), "expected none, since a pod of a manifest ends when the manifest goes"))
	}
	return append(errs, validation.ValidateNotMirror(d.pod)...)
}

// located turns the errors of a pod into faults with lines. What was found only
// because something else is a fault is left out.
func (d written) located(errs field.ErrorList) Faults {
	var faults Faults
	for _, e := range errs {
		at := d.raw.Path(e.Field)
		if slices.ContainsFunc(d.missing, func(m *document.Path) bool { return at.Within(m) || m.Within(at) }) {
			continue
		}
		if len(faults) >= maxListed {
			break // Nobody reads as many.
		}
		faults = append(faults, Fault{
			Line: at.Line(d.raw), Pod: plain.Shorten(d.pod.Name), Field: at.String(), Reason: plain.Reason(e),
		})
	}
	return faults
}

// maxListed bounds what is gathered of one pod or list, far above what is shown.
const maxListed = 1000
