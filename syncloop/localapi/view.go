package localapi

import (
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/internal/plain"
)

// view shows the objects of a resource in the form that a client has asked for.
type view struct {
	resource *resource
	form     form
	include  metav1.IncludeObjectPolicy
	now      func() time.Time
	headless bool // the columns of a Table have been sent
}

func newView(r *resource, req *http.Request, now func() time.Time) (*view, error) {
	as, err := accepted(req)
	if err != nil {
		return nil, err
	}
	v := &view{resource: r, form: as, include: metav1.IncludeMetadata, now: now}
	switch include := metav1.IncludeObjectPolicy(req.URL.Query().Get("includeObject")); include {
	case "":
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		v.include = include
	default:
		return nil, apierrors.NewBadRequest("includeObject: expected None, Metadata or Object")
	}
	return v, nil
}

// one shows one object.
func (v *view) one(o object) any {
	switch v.form {
	case formTable:
		return v.table([]object{o}, metav1.ListMeta{ResourceVersion: o.GetResourceVersion()})
	case formMetadata:
		return metadataOf(o)
	}
	return v.resource.show(o)
}

// list shows a list.
func (v *view) list(objects []object, meta metav1.ListMeta) any {
	list := objectList{ListMeta: meta, Items: make([]any, 0, len(objects))}
	list.APIVersion, list.Kind = v.resource.of.String(), v.resource.Kind+"List"
	switch v.form {
	case formTable:
		return v.table(objects, meta)
	case formMetadata:
		list.APIVersion, list.Kind = metav1.SchemeGroupVersion.String(), "PartialObjectMetadataList"
	}
	for _, o := range objects {
		list.Items = append(list.Items, v.one(o))
	}
	return list
}

// table shows objects as rows. Of several Tables of a watch only the first has the columns.
func (v *view) table(objects []object, meta metav1.ListMeta) *metav1.Table {
	t := &metav1.Table{ListMeta: meta, Rows: make([]metav1.TableRow, 0, len(objects))}
	t.APIVersion, t.Kind = metav1.SchemeGroupVersion.String(), "Table"
	if !v.headless {
		t.ColumnDefinitions = v.resource.columns
	}
	now := v.now()
	for _, o := range objects {
		var row metav1.TableRow
		row.Cells, row.Conditions = v.resource.row(o, now)
		for i, cell := range row.Cells { // What a runtime or a manifest says must not control a terminal.
			if text, ok := cell.(string); ok {
				row.Cells[i] = plain.VisibleLines(text)
			}
		}
		switch v.include {
		case metav1.IncludeObject:
			row.Object = k8sruntime.RawExtension{Object: v.resource.show(o)}
		case metav1.IncludeMetadata:
			row.Object = k8sruntime.RawExtension{Object: metadataOf(o)}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// event shows one event of a watch.
func (v *view) event(o object) any {
	if v.form != formTable {
		return v.one(o)
	}
	t := v.table([]object{o}, metav1.ListMeta{ResourceVersion: o.GetResourceVersion()})
	v.headless = true
	return t
}

// bookmark is an object that has a version and no more.
func (v *view) bookmark(version string, end bool) any {
	if v.form == formTable {
		return v.table(nil, metav1.ListMeta{ResourceVersion: version})
	}
	o := v.resource.empty()
	o.SetResourceVersion(version)
	if end {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return v.one(o)
}

// empty is an object of the resource without anything in it.
func (r *resource) empty() object {
	switch r.Kind {
	case "Pod":
		return kinded(&v1.Pod{}, r.Kind)
	case "Event":
		return kinded(&v1.Event{}, r.Kind)
	case "Node":
		return kinded(&v1.Node{}, r.Kind)
	case "Lease":
		return newLease()
	}
	return kinded(&v1.Namespace{}, r.Kind)
}

// metadataOf is what there is of an object without what it is for.
func metadataOf(o object) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.APIVersion, m.Kind = metav1.SchemeGroupVersion.String(), "PartialObjectMetadata"
	if of, ok := o.(metav1.ObjectMetaAccessor); ok {
		m.ObjectMeta = *of.GetObjectMeta().(*metav1.ObjectMeta)
	}
	return m
}
