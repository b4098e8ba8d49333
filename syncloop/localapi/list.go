package localapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// objectList is the JSON of a list of any kind.
type objectList struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []any `json:"items"`
}

// serveObject sends the object with this name, in the form that the client has asked for, or a 404 if it does
// not exist.
func (r *resource) serveObject(v *view, w http.ResponseWriter, namespace, name string) {
	o := r.shownObjectOrNil(namespace, name)
	if o == nil {
		sendError(w, apierrors.NewNotFound(r.groupResource(), name))
		return
	}
	sendJSON(w, http.StatusOK, v.renderObject(o))
}

// serveList sends the selected objects as a list. If there are more objects than the limit, it sends only the
// first ones and a continue token for the rest.
func (r *resource) serveList(v *view, w http.ResponseWriter, o options) {
	objects, version, err := r.selectObjects(&o)
	if err != nil {
		sendError(w, err)
		return
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if left := int64(len(objects)) - o.limit; o.limit > 0 && left > 0 {
		objects = objects[:o.limit]
		meta.Continue = continueToken{version, objectKey(objects[o.limit-1])}.String()
		if o.labels.Empty() && o.fields.Empty() {
			meta.RemainingItemCount = &left
		}
	}
	sendList(w, v, objects, meta)
}

// sendList sends objects as a list, or as a Table if the client has asked for one.
func sendList(w http.ResponseWriter, v *view, objects []object, meta metav1.ListMeta) {
	setHeaders(w, "application/json")
	switch list := v.renderList(objects, meta).(type) { // A write fails only if the client has disconnected.
	case *metav1.Table:
		rows := list.Rows
		list.Rows = []metav1.TableRow{}
		_ = respond.WriteList(w, list, rows)
	case objectList:
		items := list.Items
		list.Items = []any{}
		_ = respond.WriteList(w, list, items)
	}
}

// selectObjects returns the objects that match the options and come after the start key of a continued list,
// and the version of the list. For an exact version it returns the objects of that version. It returns an error
// if that version has expired or if the wanted version does not exist yet.
func (r *resource) selectObjects(o *options) (objects []object, version uint64, err error) {
	objects, version = r.shownObjectsAndVersion()
	switch {
	case o.exact:
		version = o.version
		if objects, err = r.listAt(version); err != nil {
			return nil, 0, err
		}
	case o.hasVersion && o.version > version:
		return nil, 0, versionTooLargeError(o.version, version)
	}
	objects = slices.DeleteFunc(objects, func(one object) bool {
		return !o.matches(r, one) || o.startAfter != "" && strings.Compare(objectKey(one), o.startAfter) <= 0
	})
	return objects, version, nil
}

// versionTooLargeError returns the error for a resource version that does not exist yet. After this error
// client-go lists without a version.
func versionTooLargeError(version, newest uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, newest), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}
