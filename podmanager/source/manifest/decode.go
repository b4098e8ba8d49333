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

// MaxFileSize is the maximum size of a manifest file in bytes: 10 MiB, as in the kubelet. Aliases count with their
// expansion.
const MaxFileSize = 10 << 20

// maxMemory is how many bytes the pods of one file may use.
const maxMemory = 32 << 20

// Decode parses all pods of a manifest: YAML or JSON, any number of documents, each a Pod, a PodList or a List of pods.
// It sets the defaults of [validation.Default] and checks the pods with [validation.Validate]. One fault rejects
// everything, and the error is [Faults] with all of them. Without a document the error is ErrEmpty. Unknown and
// duplicate fields are faults, as with [Config.Strict]. Decode keeps no state and is safe for concurrent use. Only a
// Source bounds the size and the number of files.
func Decode(data []byte) ([]*v1.Pod, error) {
	docs, _, faults, _, err := decodePods(data, true)
	if err != nil {
		return nil, err
	}
	pods := make([]*v1.Pod, 0, len(docs))
	for _, d := range docs {
		if len(faults) >= maxCollected {
			break // The report is long enough.
		}
		validation.Default(d.pod)
		faults = faults.appendBounded(d.locateDecodedFieldErrors(d.validateDecodedFields(validation.ValidatePartial)))
		pods = append(pods, d.pod)
	}
	if len(faults) > 0 {
		return nil, faults.sortAndBound()
	}
	return pods, nil
}

// decodedPod is one pod of a file, with its document.
type decodedPod struct {
	pod *v1.Pod
	doc *document.Value
	// missing are the values that the pod lacks because they are faulty.
	missing []*document.Path
}

// decodePods decodes the pods of a manifest and returns the memory that they need. It sets no defaults and
// validates nothing. faults has the faults of the documents; with strict these include unknown and duplicate
// fields. Without strict, ignored has the unknown and duplicate fields. It returns an error only if the
// manifest has no readable document.
func decodePods(data []byte, strict bool) (docs []decodedPod, memory int64, faults, ignored Faults, err error) {
	file, found := document.Read(data, document.Bounds{Bytes: MaxFileSize, Memory: maxMemory})
	file.Lenient = !strict
	g := faultCollector{strict: strict}
	g.addFaults(found, "")
	if len(file.Documents) == 0 {
		if len(g.faults) > 0 {
			return nil, 0, nil, nil, g.faults.sortAndBound()
		}
		return nil, 0, nil, nil, ErrEmpty
	}
	for _, v := range file.Documents {
		if g.isFull() || file.Full() {
			break // The report is long enough.
		}
		docs = append(docs, g.decodeDocument(file, v)...)
	}
	return docs, file.Memory(), g.faults, g.ignored, nil
}

// faultCollector collects the faults of a file.
type faultCollector struct {
	strict          bool
	faults, ignored Faults // at most maxCollected of each
}

// addFaults adds faults of a document, or of the named pod, up to maxCollected. If the collector is not strict,
// unknown and duplicate fields go to g.ignored, and other faults to g.faults.
func (g *faultCollector) addFaults(found document.Faults, pod string) {
	ignored, wrong := convertFaults(found, pod, g.strict).splitIgnored()
	g.faults, g.ignored = g.faults.appendBounded(wrong), g.ignored.appendBounded(ignored)
}

// isFull reports whether maxCollected faults are stored, so that no more are added. Ignored fields do not
// count.
func (g *faultCollector) isFull() bool { return len(g.faults) >= maxCollected }

// typeMeta identifies the kind of a document.
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

// decodeDocument decodes the pods of one document: a Pod, or the items of a PodList or List. It adds the faults
// that it finds to the collector, and stops when the collector is full.
func (g *faultCollector) decodeDocument(file *document.File, doc *document.Value) []decodedPod {
	if doc.Kind != document.Object {
		g.addFaults(document.Faults{{Line: doc.Line, Reason: doc.Describe() + ": expected a Pod, a PodList or a List of pods"}}, "")
		return nil
	}
	kind := doc.Get("kind")
	if kind == nil || kind.Text != "List" && kind.Text != "PodList" {
		return g.decodePod(file, doc, true)
	}
	g.addFaults(append(checkAPIVersion(doc), file.Check(doc, reflect.TypeFor[listMeta]())...), "")
	items := doc.Get("items")
	if items == nil || items.Kind != document.List {
		return nil
	}
	var docs []decodedPod
	for i, item := range items.Items {
		if g.isFull() || file.Full() {
			break // The report is long enough.
		}
		if item.Kind != document.Object {
			at := (*document.Path)(nil).Field("items").At(i)
			g.addFaults(document.Faults{{Line: at.Line(doc), Field: at.String(), Reason: item.Describe() + ": expected a Pod"}}, "")
			continue
		}
		docs = append(docs, g.decodePod(file, item, kind.Text == "List")...)
	}
	return docs
}

// checkAPIVersion returns a fault if the document's apiVersion is not v1 or is missing.
func checkAPIVersion(doc *document.Value) document.Faults {
	return checkFieldText(doc, "apiVersion", "v1", "v1")
}

// checkKind returns a fault if the document's kind is not Pod or is missing. If the document has a
// spec.template, as a Deployment has, the fault suggests a Pod with the spec of that template.
func checkKind(doc *document.Value) document.Faults {
	expected := "Pod, PodList or List"
	if doc.Get("spec").Get("template") != nil {
		expected += "; no controllers run here, so write a Pod with the spec of its spec.template"
	}
	return checkFieldText(doc, "kind", "Pod", expected)
}

// checkFieldText returns a fault if a field of the document is missing or is not the string wantText. The fault
// says that expectedInFault was expected. If the field has the text, it returns nil.
func checkFieldText(doc *document.Value, field, wantText, expectedInFault string) document.Faults {
	at := (*document.Path)(nil).Field(field)
	reason := "missing"
	switch v := doc.Get(field); {
	case v == nil || v.Kind == document.Null:
	case v.Kind != document.Text || v.Text != wantText:
		reason = v.Show()
	default:
		return nil
	}
	return document.Faults{{Line: at.Line(doc), Field: at.String(), Reason: reason + ": expected " + expectedInFault}}
}

// decodePod decodes one pod and adds the faults that it finds to the collector. If apiVersion or kind is wrong
// it returns no pod; a pod with other faults is returned. If requireType is false, as for an item of a PodList,
// both fields may be missing.
func (g *faultCollector) decodePod(file *document.File, doc *document.Value, requireType bool) []decodedPod {
	var faults document.Faults
	if requireType || doc.Get("apiVersion") != nil {
		faults = append(faults, checkAPIVersion(doc)...)
	}
	if requireType || doc.Get("kind") != nil {
		faults = append(faults, checkKind(doc)...)
	}
	if len(faults) > 0 {
		g.addFaults(faults, "")
		return nil // It is not a pod, so its fields do not matter.
	}
	pod := &v1.Pod{}
	missing, faults := file.Decode(doc, pod)
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	g.addFaults(faults, podName(doc))
	return []decodedPod{{pod, doc, missing}}
}

// podName returns the name of the pod in the document, shortened if it is too long for a report. It returns ""
// if the name is missing or not a string.
func podName(doc *document.Value) string {
	if name := doc.Get("metadata").Get("name"); name != nil && name.Kind == document.Text {
		return plain.Shorten(name.Text)
	}
	return ""
}

// checkPod is validation.ValidatePartial for a new pod, or ValidateAcceptedPartial for a pod that an earlier process
// has accepted.
type checkPod func(pod *v1.Pod, unread []string) field.ErrorList

// validateDecodedFields returns the errors of check for the pod, except errors about fields that could not be
// decoded. It also adds an error if the pod has a deletionTimestamp or is a mirror pod.
func (d decodedPod) validateDecodedFields(check checkPod) field.ErrorList {
	unread := make([]string, 0, len(d.missing))
	for _, m := range d.missing {
		unread = append(unread, m.String())
	}
	errs := check(d.pod, unread)
	if d.pod.DeletionTimestamp != nil {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "deletionTimestamp"), "expected none, because a pod of a manifest is deleted when the manifest is removed"))
	}
	return append(errs, validation.ValidateNotMirror(d.pod)...)
}

// locateDecodedFieldErrors converts validation errors of a pod to faults with line numbers, at most maxCollected. It skips
// errors about fields that could not be decoded, because faults for them are collected already.
func (d decodedPod) locateDecodedFieldErrors(errs field.ErrorList) Faults {
	var faults Faults
	for _, e := range errs {
		at := d.doc.Path(e.Field)
		if slices.ContainsFunc(d.missing, func(m *document.Path) bool { return at.Within(m) || m.Within(at) }) {
			continue
		}
		if len(faults) >= maxCollected {
			break // The report is long enough.
		}
		faults = append(faults, Fault{
			Line: at.Line(d.doc), Pod: plain.Shorten(d.pod.Name), Field: at.String(), Reason: plain.Reason(e),
		})
	}
	return faults
}

// maxCollected bounds the faults that are collected for a file. Reports show far fewer.
const maxCollected = 1000
