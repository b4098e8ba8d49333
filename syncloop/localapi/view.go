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

// view renders the objects of a resource in the form that the client accepts.
type view struct {
	resource    *resource
	form        form
	include     metav1.IncludeObjectPolicy
	now         func() time.Time
	columnsSent bool // whether the Table columns have been sent
}

// newView returns a view with the form that the Accept header asks for, and with the includeObject parameter of
// the query. An unknown form or parameter value is an error.
func newView(r *resource, req *http.Request, now func() time.Time) (*view, error) {
	as, err := negotiateForm(req)
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

// renderObject returns an object in the form that the client has asked for: a Table with one row, the metadata
// only, or the object in the resource's API version.
func (v *view) renderObject(o object) any {
	switch v.form {
	case formTable:
		return v.renderTable([]object{o}, metav1.ListMeta{ResourceVersion: o.GetResourceVersion()})
	case formMetadata:
		return partialMetadata(o)
	}
	return v.resource.convert(o)
}

// renderList returns objects in the form that the client has asked for: a Table, or a list of metadata or of
// objects.
func (v *view) renderList(objects []object, meta metav1.ListMeta) any {
	list := objectList{ListMeta: meta, Items: make([]any, 0, len(objects))}
	list.APIVersion, list.Kind = v.resource.groupVersion.String(), v.resource.Kind+"List"
	switch v.form {
	case formTable:
		return v.renderTable(objects, meta)
	case formMetadata:
		list.APIVersion, list.Kind = metav1.SchemeGroupVersion.String(), "PartialObjectMetadataList"
	}
	for _, o := range objects {
		list.Items = append(list.Items, v.renderObject(o))
	}
	return list
}

// renderTable renders objects as a Table, with the column definitions unless an earlier Table of the watch had
// them. Each row contains its object or its metadata, as includeObject says. Control characters in cells are
// made visible.
func (v *view) renderTable(objects []object, meta metav1.ListMeta) *metav1.Table {
	t := &metav1.Table{ListMeta: meta, Rows: make([]metav1.TableRow, 0, len(objects))}
	t.APIVersion, t.Kind = metav1.SchemeGroupVersion.String(), "Table"
	if !v.columnsSent {
		t.ColumnDefinitions = v.resource.columns
	}
	now := v.now()
	for _, o := range objects {
		var row metav1.TableRow
		row.Cells, row.Conditions = v.resource.row(o, now)
		for i, cell := range row.Cells { // Texts of a runtime or manifest must not contain terminal control codes.
			if text, ok := cell.(string); ok {
				row.Cells[i] = plain.VisibleLines(text)
			}
		}
		switch v.include {
		case metav1.IncludeObject:
			row.Object = k8sruntime.RawExtension{Object: v.resource.convert(o)}
		case metav1.IncludeMetadata:
			row.Object = k8sruntime.RawExtension{Object: partialMetadata(o)}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// renderWatchObject renders the object of a watch event. After the first Table it sets columnsSent, so that
// later Tables have no column definitions.
func (v *view) renderWatchObject(o object) any {
	if v.form != formTable {
		return v.renderObject(o)
	}
	t := v.renderTable([]object{o}, metav1.ListMeta{ResourceVersion: o.GetResourceVersion()})
	v.columnsSent = true
	return t
}

// renderBookmark renders an empty object, or an empty Table, that has only a resource version. If
// initialEventsEnd is set, the object gets the annotation that ends the initial events; a Table does not.
func (v *view) renderBookmark(version string, initialEventsEnd bool) any {
	if v.form == formTable {
		return v.renderTable(nil, metav1.ListMeta{ResourceVersion: version})
	}
	o := v.resource.newObject()
	o.SetResourceVersion(version)
	if initialEventsEnd {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return v.renderObject(o)
}

// newObject returns an empty object of the resource's kind.
func (r *resource) newObject() object {
	switch r.Kind {
	case "Pod":
		return withKind(&v1.Pod{}, r.Kind)
	case "Event":
		return withKind(&v1.Event{}, r.Kind)
	case "Node":
		return withKind(&v1.Node{}, r.Kind)
	case "Lease":
		return newLease()
	}
	return withKind(&v1.Namespace{}, r.Kind)
}

// partialMetadata returns the metadata of an object as a PartialObjectMetadata.
func partialMetadata(o object) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.APIVersion, m.Kind = metav1.SchemeGroupVersion.String(), "PartialObjectMetadata"
	if of, ok := o.(metav1.ObjectMetaAccessor); ok {
		m.ObjectMeta = *of.GetObjectMeta().(*metav1.ObjectMeta)
	}
	return m
}
